import ImageCache
import Testing

@testable import imgcache

@Suite("The progress of files over time")
struct FileProgressTests {
    private static func progress(
        _ phase: DownloadProgress.Phase = .transferring, _ received: Int64 = 0, of total: Int64? = 1_000_000_000,
        resumedFrom: Int64 = 0
    ) -> DownloadProgress {
        var progress = DownloadProgress()
        progress.phase = phase
        progress.received = received
        progress.total = total
        progress.resumedFrom = resumedFrom
        progress.hasResponse = true
        return progress
    }

    private static let reset = DownloadProgress.Phase.retrying(after: .seconds(4), because: "reset")

    /// A file of which 10 MB came in the first 10 s.
    private static func begun() -> FileProgress {
        var file = FileProgress(name: "a", at: 0)
        for second in 0...10 { _ = file.apply(progress(.transferring, Int64(second) * 1_000_000), at: Double(second)) }
        return file
    }

    private static func rate(_ file: FileProgress, at now: Double) -> Double? {
        if case .receiving(let rate) = file.line(at: now).activity { return rate }
        return nil
    }

    private static func pause(_ file: FileProgress, at now: Double) -> ProgressLine.Pause? {
        if case .waiting(let pause) = file.line(at: now).activity { return pause }
        return nil
    }

    @Test func `the transfer rate covers the last five seconds and is unknown in the first one`() {
        var file = FileProgress(name: "a", at: 0)
        _ = file.apply(Self.progress(.transferring, 0), at: 0)
        _ = file.apply(Self.progress(.transferring, 65_536), at: 0.000_03)
        #expect(Self.rate(file, at: 0.9) == nil)
        #expect(Self.rate(file, at: 1) == 65_536)
        #expect(Self.rate(Self.begun(), at: 10) == 1_000_000)
    }

    @Test func `a stall lowers the rate and counts as a pause after two seconds`() throws {
        let file = Self.begun()
        let slowed = try #require(Self.rate(file, at: 11.5))
        #expect(slowed < 1_000_000)
        #expect(Self.pause(file, at: 11.9) == nil)
        #expect(Self.pause(file, at: 12) == .init(silence: 2))
        #expect(Self.pause(file, at: 22) == .init(silence: 12))
    }

    @Test func `a pause names its reason and the time of the next try, which comes nearer`() {
        var file = Self.begun()
        _ = file.apply(Self.progress(Self.reset, 10_000_000), at: 11)
        #expect(Self.pause(file, at: 11) == .init(reason: "reset", nextTry: 4))
        #expect(Self.pause(file, at: 14) == .init(silence: 4, reason: "reset", nextTry: 1))
        // The next attempt brings nothing: the reason of the last one stays.
        _ = file.apply(Self.progress(.transferring, 10_000_000), at: 15)
        #expect(Self.pause(file, at: 40) == .init(silence: 30, reason: "reset"))
    }

    @Test func `the rate after a reconnect is that of the bytes that came since`() {
        var file = Self.begun()
        _ = file.apply(Self.progress(Self.reset, 10_000_000), at: 11)
        _ = file.apply(Self.progress(.transferring, 10_000_000), at: 15)
        #expect(file.apply(Self.progress(.transferring, 10_000_000, resumedFrom: 10_000_000), at: 16) == 0)
        #expect(file.apply(Self.progress(.transferring, 10_065_536, resumedFrom: 10_000_000), at: 16.000_03) == 65_536)
        #expect(Self.rate(file, at: 16.5) == nil)
        #expect(Self.rate(file, at: 17) == 65_536)
        #expect(Self.pause(file, at: 19)?.silence.map { $0.rounded() } == 3)
    }

    @Test func `bytes that were held before a resume never count as received`() {
        var file = FileProgress(name: "a", at: 0)
        let held: Int64 = 900_000_000
        #expect(file.apply(Self.progress(.transferring, held + 10, resumedFrom: held), at: 0) == 10)
        #expect(file.apply(Self.progress(.transferring, held + 30, resumedFrom: held), at: 1) == 20)
        #expect(Self.rate(file, at: 1) == 20)
        #expect(file.apply(Self.progress(.transferring, 0), at: 2) == 0)
        #expect(file.apply(Self.progress(.transferring, 5), at: 3) == 5)
    }

    @Test func `bytes of another connection end a pause`() {
        var file = Self.begun()
        _ = file.apply(Self.progress(Self.reset, 10_000_000), at: 11)
        _ = file.apply(Self.progress(Self.reset, 11_000_000), at: 11.5)
        #expect(Self.pause(file, at: 12) == nil)
    }

    @Test func `silence begins when bytes are expected`() {
        var file = FileProgress(name: "a", at: 0)
        _ = file.apply(Self.progress(.waitingForOther), at: 0)
        #expect(Self.pause(file, at: 60) == .init(reason: "waiting for another imgcache"))
        _ = file.apply(Self.progress(.transferring), at: 60)
        #expect(Self.pause(file, at: 61) == nil)
        #expect(Self.pause(file, at: 63) == .init(silence: 3))
    }

    // MARK: All files of a run

    private static let two: RunProgress.FileCount = (2, true)

    @Test func `a finished file has no progress line, even if an update arrives late`() {
        var run = RunProgress(isSeveral: true)
        for id in 0...1 { run.begin(id, name: "file\(id)", at: 0) }
        for id in 0...1 { _ = run.update(id, Self.progress(.storing, 100, of: 100), at: 1) }
        run.finish(0, size: 100, at: 1)
        _ = run.update(0, Self.progress(.storing, 100, of: 100), at: 1)
        let lines = run.lines(width: 80, rows: 24, at: 1, of: Self.two)
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("total 1 of 2") && lines[1].hasPrefix("file1"))
        run.finish(1, size: 100, at: 1)
        #expect(run.lines(width: 80, rows: 24, at: 1, of: Self.two).map { $0.hasPrefix("total 2 of 2") } == [true])
    }

    @Test(arguments: [
        (0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 2, 1), (5, 4, 1), (9, 8, 1), (10, 9, 1), (24, 9, 1), (200, 9, 1),
    ])
    func `there are at most as many progress lines as the terminal has rows above the cursor`(
        rows: Int, ofSeveral: Int, ofOne: Int
    ) {
        for (isSeveral, files, expected) in [(true, 12, ofSeveral), (false, 1, ofOne)] {
            var run = RunProgress(isSeveral: isSeveral)
            for id in 0..<files { run.begin(id, name: "file\(id)", at: 0) }
            let lines = run.lines(width: 80, rows: rows, at: 0, of: (files, true))
            #expect(lines.count == expected)
            if isSeveral, let first = lines.first { #expect(first.hasPrefix("total 0 of 12")) }
        }
    }

    @Test(
        arguments: [
            ("xterm-256color", true), ("linux", true), ("vt100", true), ("dumb", false), ("", false), (nil, false),
        ] as [(String?, Bool)])
    func `progress is redrawn on terminals that can move their cursor`(term: String?, isRedrawn: Bool) {
        #expect(Output.movesCursor(term: term) == isRedrawn)
    }

    @Test(arguments: [(7, false), (8, true), (0, false), (-1, false)] as [(Int32, Bool)])
    func `a process is in the background if another group has the foreground of its terminal`(
        foreground: Int32, isBackground: Bool
    ) {
        #expect(Output.isBackground(7, foreground: foreground) == isBackground)
    }

    @Test func `a single finished file leaves no progress line`() {
        var run = RunProgress(isSeveral: false)
        run.begin(0, name: "a", at: 0)
        #expect(run.lines(width: 80, rows: 24, at: 0, of: (1, true)).count == 1)
        run.finish(0, size: nil, at: 0)
        #expect(run.lines(width: 80, rows: 24, at: 0, of: (1, true)).isEmpty)
        #expect(run.plainLine(at: 0, of: (1, true)) == nil)
    }

    @Test func `the total rate counts neither held bytes nor the bytes of an earlier attempt`() throws {
        var run = RunProgress(isSeveral: true)
        for id in 0...1 { run.begin(id, name: "file\(id)", at: 0) }
        for time in 0...3 {
            let (time, bytes) = (Double(time), Int64(time) * 1000)
            _ = run.update(0, Self.progress(.transferring, 500_000_000 + bytes, resumedFrom: 500_000_000), at: time)
        }
        let line = try #require(run.plainLine(at: 3, of: Self.two))
        #expect(line.contains(", 1000 B/s"), "\(line)")
        run.postpone(0)
        run.begin(0, name: "file0", at: 4)
        _ = run.update(0, Self.progress(.transferring, 500_003_000, resumedFrom: 500_003_000), at: 4)
        #expect(try #require(run.plainLine(at: 4, of: Self.two)).contains(", 750 B/s"))
    }

    @Test func `a sum of lengths beyond 64 bits is clamped to the maximum`() {
        var run = RunProgress(isSeveral: true)
        for id in 0...3 { run.expect(id, size: .max) }
        for id in 0...1 { run.begin(id, name: "file\(id)", at: 0) }
        _ = run.update(0, Self.progress(.transferring, 10, of: .max), at: 1)
        _ = run.update(1, Self.progress(.transferring, 1000, of: .max), at: 1)
        #expect(run.figures(of: (4, true)).total == .max && run.figures(of: (4, true)).received == 1010)
        for id in 2...3 { run.finish(id, size: .max, at: 2) }
        #expect(run.figures(of: (4, true)).total == .max && run.figures(of: (4, true)).received == .max)
    }

    @Test func `files that finish between two updates count once in the rate`() throws {
        var run = RunProgress(isSeveral: true)
        run.begin(0, name: "large", at: 0)
        for time in 0...4 {
            let id = time + 1
            run.begin(id, name: "small\(id)", at: Double(time))
            _ = run.update(0, Self.progress(.transferring, Int64(time) * 500), at: Double(time))
            run.finish(id, size: 500, received: 500, at: Double(time))
        }
        run.finish(0, size: 2000, received: 2000, at: 4)
        #expect(try #require(run.plainLine(at: 4, of: (7, true))).contains(", 1000 B/s"))
    }

    @Test func `a failed file counts in the totals only with the bytes that it received`() {
        var run = RunProgress(isSeveral: true)
        for id in 0...1 { run.begin(id, name: "file\(id)", at: 0) }
        _ = run.update(0, Self.progress(.transferring, 300, of: 1000), at: 1)
        _ = run.update(1, Self.progress(.transferring, 50, of: 500), at: 1)
        #expect(run.figures(of: Self.two).total == 1500)
        run.finish(0, size: nil, at: 2)
        #expect(run.figures(of: Self.two).received == 350 && run.figures(of: Self.two).total == 800)
        run.finish(1, size: 500, at: 3)
        #expect(run.figures(of: Self.two) == .init(received: 800, total: 800, finished: 2, files: 2))
    }

    @Test func `the total line shows a silence with its reason and the earliest next attempt`() throws {
        var run = RunProgress(isSeveral: true)
        for id in 0...1 { run.begin(id, name: "file\(id)", at: 0) }
        _ = run.update(0, Self.progress(.retrying(after: .seconds(9), because: "HTTP 503")), at: 1)
        _ = run.update(1, Self.progress(), at: 1)
        #expect(try #require(run.plainLine(at: 4, of: (3, false))).hasSuffix("no data for 3 s, HTTP 503"))
        _ = run.update(1, Self.progress(.retrying(after: .seconds(20), because: "reset")), at: 4)
        #expect(
            try #require(run.plainLine(at: 5, of: (3, false))).hasSuffix("no data for 4 s, reset, again in 5 s"))
        run.finish(1, size: nil, at: 5)
        _ = run.update(0, Self.progress(.storing), at: 6)
        #expect(!(try #require(run.plainLine(at: 60, of: (3, false))).contains("no data")))
    }

    @Test func `each failed attempt is a line of its own, once`() {
        var run = RunProgress(isSeveral: false)
        run.begin(0, name: "a.bin", at: 0)
        #expect(run.update(0, Self.progress(), at: 1) == nil)
        #expect(run.update(0, Self.progress(Self.reset), at: 2) == "a.bin: reset, again in 4 s")
        #expect(run.update(0, Self.progress(Self.reset), at: 3) == nil)
        #expect(run.update(0, Self.progress(), at: 6) == nil)
        #expect(run.update(0, Self.progress(Self.reset), at: 8) == "a.bin: reset, again in 4 s")
        #expect(run.update(7, Self.progress(Self.reset), at: 9) == nil)
    }
}
