import Testing

@testable import imgcache

@Suite("A progress line")
struct ProgressLineTests {
    private var line: ProgressLine {
        var line = ProgressLine(name: "big.iso")
        line.received = 1_846_835_937
        line.total = 4 << 30
        line.bytesPerSecond = 40_000_000
        line.resumedFrom = 515_396_075
        return line
    }

    @Test func `shows name, percent, bytes of bytes, rate, time left and where it resumed`() {
        #expect(
            line.text(width: 120)
                == "big.iso                            42 %  1.72 GiB of 4.00 GiB  38.1 MiB/s  1 min 1 s left  resumed at 11 %"
        )
    }

    @Test func `shortens the name before it leaves anything out`() {
        var line = line
        line.bytesPerSecond = 400_000_000
        #expect(
            line.text(width: 80)
                == "big.iso         42 %  1.72 GiB of 4.00 GiB  381 MiB/s  6 s left  resumed at 11 %")
    }

    @Test(arguments: 10...130)
    func `never exceeds the terminal's width`(width: Int) { #expect(line.text(width: width).count <= width) }

    @Test(arguments: 10...130)
    func `counts the columns of wide characters in a name`(width: Int) {
        var line = line
        for name in ["日本語の写真、とても長い名前のファイル.jpeg", "写真.jpg", "📷📷📷📷📷📷📷📷📷📷📷📷📷📷📷📷📷📷.png"] {
            line.name = name
            #expect(TerminalColumns.count(of: line.text(width: width)) <= width)
        }
        #expect(TerminalColumns.count(of: "日本語.jpg") == 10)
        #expect(ProgressLine.fitted("写真.jpg", to: 12) == "写真.jpg    ")
    }

    @Test func `does without percent and time left when the length is unknown`() {
        var line = line
        line.total = nil
        #expect(line.text(width: 100) == "big.iso                           1.72 GiB  38.1 MiB/s  resumed at 492 MiB")
    }

    @Test func `rounds the percentage down, so that 100 means all`() {
        #expect(ProgressLine.percent(999_999, of: 1_000_000) == 99)
        #expect(ProgressLine.percent(1_000_000, of: 1_000_000) == 100)
    }

    @Test
    func `shortens a long name in the middle`() {
        #expect(ProgressLine.fitted("a-very-long-file-name.tar.gz", to: 15) == "a-very-….tar.gz")
    }

    @Test func `measures the rate over the last five seconds and forgets what was before a restart`() {
        var meter = RateMeter()
        #expect(meter.bytesPerSecond == nil)
        for second in 0...10 { meter.record(bytes: Int64(second) * 100, at: Double(second)) }
        #expect(meter.bytesPerSecond == 100)
        meter.record(bytes: 0, at: 11)
        #expect(meter.bytesPerSecond == nil)
    }
}
