import Testing

@testable import imgcache

@Suite("A progress line")
struct ProgressLineTests {
    private static let receiving = ProgressLine(
        name: "big.iso", received: 1_846_835_937, total: 4 << 30, resumedFrom: 515_396_075,
        activity: .receiving(bytesPerSecond: 40_000_000))

    private static let longName = changed(receiving) { $0.name = "a-very-long-name-of-an-image-of-a-disk.iso" }

    private static let silent = changed(receiving) {
        $0.activity = .waiting(.init(silence: 12, reason: "Connection reset by peer", nextTry: 4))
    }

    private static func changed(_ line: ProgressLine, _ change: (inout ProgressLine) -> Void) -> ProgressLine {
        var line = line
        change(&line)
        return line
    }

    private static let table: [(width: Int, line: ProgressLine, text: String)] = [
        (40, receiving, "big.iso      42 %  38.1 MiB/s  1 min 1 s"),
        (40, longName, "a-ver….iso   42 %  38.1 MiB/s  1 min 1 s"),
        (40, changed(receiving) { $0.total = nil }, "big.iso        1.72 GiB  38.1 MiB/s"),
        (
            40, changed(receiving) { $0.activity = .receiving(bytesPerSecond: nil) },
            "big.iso       42 %  1.72 GiB of 4.00 GiB"
        ),
        (40, silent, "big.iso         42 %  again in 4 s"),
        (40, changed(silent) { $0.activity = .waiting(.init(silence: 12)) }, "big.iso         42 %  no data for 12 s"),
        (
            40, changed(silent) { $0.activity = .waiting(.init(reason: "Connection reset by peer", nextTry: 4)) },
            "big.iso   42 %  Connectio…, again in 4 s"
        ),
        (80, receiving, "big.iso    [===>    ]   42 %  1.72 GiB of 4.00 GiB  38.1 MiB/s  1 min 1 s left  "),
        (80, longName, "a-very-lon…a-disk.iso   42 %  1.72 GiB of 4.00 GiB  38.1 MiB/s  1 min 1 s left  "),
        (80, silent, "big.iso           42 %  no data for 12 s, Connection reset by peer, again in 4 s"),
        (
            120, receiving,
            "big.iso                           [===>    ]   42 %  1.72 GiB of 4.00 GiB  38.1 MiB/s  1 min 1 s left    resumed at 11 %"
        ),
        (
            120, longName,
            "a-very-long-name…e-of-a-disk.iso  [===>    ]   42 %  1.72 GiB of 4.00 GiB  38.1 MiB/s  1 min 1 s left    resumed at 11 %"
        ),
        (
            120, silent,
            "big.iso            42 %  1.72 GiB of 4.00 GiB  no data for 12 s, Connection reset by peer, again in 4 s  resumed at 11 %"
        ),
    ]

    @Test(arguments: table)
    func `a progress line shows its most important parts at 40, 80 and 120 columns`(
        width: Int, line: ProgressLine, text: String
    ) {
        #expect(line.text(width: width) == text)
    }

    @Test(arguments: 0...130)
    func `a progress line never exceeds the terminal's width`(width: Int) {
        for line in [Self.receiving, Self.longName, Self.silent] {
            #expect(TerminalColumns.count(of: line.text(width: width)) <= width)
        }
    }

    @Test(arguments: 40...130)
    func `a progress line keeps name, percentage, rate and time left from 40 columns on`(width: Int) {
        for line in [Self.receiving, Self.longName] {
            let text = line.text(width: width)
            #expect(text.hasPrefix(line.name.prefix(4)), "\(text)")
            for part in ["42 %", "38.1 MiB/s", "1 min 1 s"] { #expect(text.contains(part), "\(text)") }
        }
    }

    @Test(arguments: 40...130)
    func `a paused progress line shows the time of the next attempt from 40 columns on`(width: Int) {
        let text = Self.silent.text(width: width)
        #expect(text.contains("again in 4 s") && !text.contains("/s") && !text.contains("left"), "\(text)")
        #expect(text.hasPrefix("big."), "\(text)")
    }

    @Test(arguments: 71...200)
    func `a growing bar does not move the rest of the progress line`(width: Int) {
        var columns: Set<Int> = []
        for percent in Int64(0)...100 {
            let line = Self.changed(Self.receiving) { $0.received = (4 << 30) / 100 * percent }
            let text = line.text(width: width)
            if let end = text.firstIndex(of: "%") { columns.insert(text.distance(from: text.startIndex, to: end)) }
        }
        #expect(columns.count == 1, "\(columns)")
    }

    @Test(arguments: 0...130)
    func `a progress line counts the columns of wide characters in a name`(width: Int) {
        var line = Self.receiving
        for name in ["日本語の写真、とても長い名前のファイル.jpeg", "写真.jpg", "📷📷📷📷📷📷📷📷📷📷📷📷📷📷📷📷📷📷.png"] {
            line.name = name
            #expect(TerminalColumns.count(of: line.text(width: width)) <= width)
        }
        #expect(TerminalColumns.count(of: "日本語.jpg") == 10)
        #expect(ProgressLine.fitted("写真.jpg", to: 12) == "写真.jpg    ")
    }

    @Test func `a progress line omits percentage and time left if the length is unknown`() {
        let line = Self.changed(Self.receiving) { $0.total = nil }
        #expect(line.text(width: 100) == "big.iso                           1.72 GiB  38.1 MiB/s  resumed at 492 MiB")
        #expect(line.plainText == "big.iso, 1.72 GiB, 38.1 MiB/s, resumed at 492 MiB")
    }

    @Test func `a plain progress line shows all details of a pause`() {
        #expect(
            Self.silent.plainText
                == "big.iso, 42 %, 1.72 GiB of 4.00 GiB, no data for 12 s, Connection reset by peer, again in 4 s, resumed at 11 %"
        )
    }

    @Test func `control characters from a server do not reach the terminal`() {
        let line = Self.changed(Self.silent) {
            $0.name = "a\u{1B}[2Jb\u{202E}gpj.exe"
            $0.activity = .waiting(.init(reason: "bad\u{9B}31m\u{200B}"))
        }
        for text in [line.plainText, line.text(width: 40), line.text(width: 120)] {
            #expect(!text.unicodeScalars.contains { [0x1B, 0x9B, 0x202E, 0x200B].contains($0.value) }, "\(text)")
        }
    }

    @Test func `a progress line rounds the percentage down, so that 100 means complete`() {
        #expect(ProgressLine.percent(999_999, of: 1_000_000) == 99)
        #expect(ProgressLine.percent(1_000_000, of: 1_000_000) == 100)
    }

    @Test
    func `a progress line shortens a long name in the middle`() {
        #expect(ProgressLine.fitted("a-very-long-file-name.tar.gz", to: 15) == "a-very-….tar.gz")
    }
}
