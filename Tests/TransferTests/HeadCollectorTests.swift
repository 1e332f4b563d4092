import HTTPTypes
import TestSupport
import Testing

@testable import Transfer

@Suite("Collecting response heads")
struct HeadCollectorTests {
    /// Feeds lines as libcurl does, and gives the last thing that was not "more".
    private func feed(_ collector: inout HeadCollector, _ lines: [String]) -> HeadCollector.Progress {
        var last = HeadCollector.Progress.more
        for line in lines {
            let progress = Array((line + "\r\n").utf8).withUnsafeBytes { collector.append($0) }
            if progress != .more { last = progress }
        }
        return last
    }

    @Test func `a plain head has a status, version and fields`() {
        var collector = HeadCollector()
        #expect(
            feed(&collector, ["HTTP/1.1 200 OK", "ETag:  \"v1\" ", "X-Empty:", "Vary: a", "vary: b", ""])
                == .complete(status: 200))
        let (version, fields) = collector.parsed()
        #expect(version == "HTTP/1.1")
        #expect(fields[.eTag] == "\"v1\"")
        #expect(fields[HTTPField.Name("X-Empty")!] == "")
        #expect(fields[values: .vary] == ["a", "b"])
    }

    @Test func `interim responses are reported and do not affect the next head`() {
        var collector = HeadCollector()
        #expect(
            feed(&collector, ["HTTP/1.1 103 Early Hints", "Link: </a>", ""])
                == .interim(status: 103, [HTTPField.Name("Link")!: "</a>"]))
        let lines = ["HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 204 No Content", "A: b", ""]
        #expect(feed(&collector, lines) == .complete(status: 204))
        #expect(collector.parsed().fields.count == 1)
    }

    @Test(arguments: ["-99", "+20", "2 0", "20", "2x0", "\u{661}\u{662}"])
    func `a status that is not a number of three digits is invalid`(status: String) {
        var collector = HeadCollector()
        for line in ["HTTP/1.1 \(status) OK\r\n", "\r\n"] {
            _ = Array(line.utf8).withUnsafeBytes { collector.append($0) }
        }
        #expect(collector.status == 0)
    }

    @Test func `the head after a redirect's replaces it`() {
        var collector = HeadCollector()
        #expect(feed(&collector, ["HTTP/1.1 302 Found", "Location: /x", ""]) == .complete(status: 302))
        #expect(collector.status == 302)
        #expect(feed(&collector, ["HTTP/2 200", "etag: \"v\"", ""]) == .complete(status: 200))
        #expect(collector.parsed().version == "HTTP/2")
        #expect(collector.parsed().fields[.location] == nil)
    }

    @Test func `folded lines are joined, and invalid fields are left out`() {
        var collector = HeadCollector()
        var lines = ["HTTP/1.0 200", "A: one", "\t two ", "no colon", ": no name", "bad name: x", "ETag : \"x\""]
        #expect(feed(&collector, lines) == .more)
        let bytes: [UInt8] = [0x42, 0x3A, 0xFF, 0xC3, 0x28, 0x0A]
        #expect(bytes.withUnsafeBytes { collector.append($0) } == .more)
        lines = [""]
        #expect(feed(&collector, lines) == .complete(status: 200))
        let fields = collector.parsed().fields
        #expect(fields.map(\.name.canonicalName) == ["a", "b"])
        #expect(fields[HTTPField.Name("A")!] == "one two")
    }

    @Test func `lines after a complete head are trailers and change nothing`() {
        var collector = HeadCollector()
        #expect(feed(&collector, ["HTTP/1.1 200 OK", "A: b", ""]) == .complete(status: 200))
        #expect(feed(&collector, ["ETag: \"late\"", ""]) == .more)
        #expect(collector.parsed().fields.count == 1)
    }

    private func isViolation(_ progress: HeadCollector.Progress) -> Bool {
        if case .violation = progress { true } else { false }
    }

    @Test func `an endless head is a violation, by bytes, lines or interim responses`() {
        var collector = HeadCollector()
        let long = "X: " + String(repeating: "x", count: 60_000)
        #expect(isViolation(feed(&collector, ["HTTP/1.1 200 OK"] + Array(repeating: long, count: 5))))

        collector = HeadCollector()
        #expect(isViolation(feed(&collector, ["HTTP/1.1 200 OK"] + Array(repeating: "X: y", count: 1000))))

        collector = HeadCollector()
        let hint = ["HTTP/1.1 103 Early Hints", ""]
        #expect(isViolation(feed(&collector, Array(repeating: hint, count: 33).flatMap { $0 })))
        collector = HeadCollector()
        #expect(feed(&collector, Array(repeating: hint, count: 32).flatMap { $0 }) == .interim(status: 103, [:]))
    }

    @Test func `lines without end after a complete head are a violation`() {
        var collector = HeadCollector()
        _ = feed(&collector, ["HTTP/1.1 404 Not Found", "Transfer-Encoding: chunked", ""])
        let lines = [String](repeating: "X: y", count: 100_000)
        #expect(isViolation(feed(&collector, lines)))
    }

    @Test func `trailers without end are a violation`() {
        let long = Array("X-Long: \(String(repeating: "a", count: 64 * 1024))\r\n".utf8)
        let short = Array("X: y\r\n".utf8)
        for (line, allowed) in [(long, 3), (short, HeadCollector.maxFields)] {
            var collector = HeadCollector()
            for _ in 0..<allowed {
                #expect(line.withUnsafeBytes { collector.appendTrailer($0) } == .more)
            }
            #expect(isViolation(line.withUnsafeBytes { collector.appendTrailer($0) }))
            collector.reset()
            #expect(line.withUnsafeBytes { collector.appendTrailer($0) } == .more)
        }
    }

    @Test func `anything that calls itself HTTP is read without a crash`() {
        var generator = SeededGenerator(for: "HeadCollectorTests.random")
        func upTo(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        let alphabet: [UInt8] = Array("HTP/1.2 :\r\n\tab\"-".utf8) + [0, 0x7F, 0x80, 0xFF]
        for _ in 0..<300 {
            var collector = HeadCollector()
            for _ in 0..<upTo(12) {
                var line = upTo(3) == 0 ? Array("HTTP/1.1 2".utf8) : []
                for _ in 0..<upTo(20) { line.append(alphabet[upTo(alphabet.count)]) }
                line += [0x0D, 0x0A]
                _ = line.withUnsafeBytes { collector.append($0) }
            }
            let fields = collector.parsed().fields
            #expect(fields.allSatisfy { !$0.value.utf8.contains(0x0A) && !$0.value.utf8.contains(0) })
            _ = MaskedHead.lines(collector.bytes)
        }
    }
}
