import Foundation
import TestSupport
import Testing

/// Every answer that an origin may give to a download that continues an earlier one: the bytes are right in all cases,
/// and fetched again only where they must be.
@Suite(.fewAtATime) struct ResumeBranchTests {
    static let size: Int64 = 3_000_000
    /// The position at which the first response is cut, in the middle of a block: a process that detects the cut keeps
    /// that block too.
    static let cut: Int64 = 1_500_000
    static let original = Representation(seed: 51, size: size)

    enum Expectation: Sendable {
        /// The held part is continued: only the rest is fetched.
        case continues
        /// As `continues`, with so many requests.
        case continuesInParts(Int)
        /// The first answer is taken whole.
        case takenWhole
        /// The partial is dropped, and the representation is requested again.
        case startsOver
    }

    struct Branch: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var expectation: Expectation
        /// The origin's behaviour while the partial is created.
        var first = Behaviour(original)
        /// The origin's behaviour when the download continues.
        var second = Behaviour(original)
        /// True if the second run requests a range.
        var asksForRange = true

        init(_ description: String, _ expectation: Expectation, _ change: (inout Branch) -> Void) {
            testDescription = description
            self.expectation = expectation
            change(&self)
        }

        init(_ description: String, _ expectation: Expectation, fault: Behaviour.RangeFault?) {
            self.init(description, expectation) { $0.second.rangeFault = fault }
        }
    }

    static let branches: [Branch] = [
        Branch("206 as asked", .continues, fault: nil),
        Branch("206 without an ETag", .startsOver, fault: .etag(nil)),
        Branch("206 of other bytes, from an origin that ignores If-Range and forgets the ETag", .startsOver) {
            $0.second.representation = Representation(seed: 52, size: size, etag: original.etag)
            $0.second.rangeFault = .etag(nil)
        },
        Branch("206 without an ETag, with the date that was beside it", .continues) {
            $0.first.representation.lastModified = Date(timeIntervalSince1970: 1_700_000_000)
            $0.second.representation = $0.first.representation
            $0.second.rangeFault = .etag(nil)
        },
        Branch("206 that starts one byte early", .startsOver, fault: .shifted(start: -1, end: 0)),
        Branch("206 that starts one byte late", .startsOver, fault: .shifted(start: 1, end: 0)),
        Branch("206 that starts at 0", .startsOver, fault: .shifted(start: -cut, end: 0)),
        Branch("206 with less than was asked for", .continuesInParts(4), fault: .atMost(400_000)),
        Branch("206 without the total", .continues, fault: .total(offBy: nil)),
        Branch("206 that ends beyond the total", .startsOver, fault: .shifted(start: 0, end: 1000)),
        Branch("206 with a larger total", .startsOver, fault: .total(offBy: 7)),
        Branch("206 with a smaller total", .startsOver, fault: .total(offBy: -7)),
        Branch("206 in another unit", .startsOver, fault: .unit("pages")),
        Branch("206 without Content-Range", .startsOver, fault: .missingContentRange),
        Branch("206 with another ETag", .startsOver, fault: .etag("\"other\"")),
        Branch("206 with the ETag weakened", .startsOver, fault: .etag("W/\"v51\"")),
        Branch("multipart/byteranges", .startsOver, fault: .multipart),
        Branch("200: ranges are ignored", .takenWhole, fault: .ignored),
        Branch("304", .startsOver, fault: .status(304)),
        Branch("412", .startsOver, fault: .status(412)),
        Branch("416 with the right total, though bytes are missing", .startsOver, fault: .unsatisfiable(total: size)),
        Branch("416 with another total", .startsOver, fault: .unsatisfiable(total: size - 1)),
        Branch("416 with a total equal to what is held", .startsOver, fault: .unsatisfiable(total: cut)),
        Branch("416 without Content-Range", .startsOver, fault: .unsatisfiable(total: nil)),
        Branch("the representation changed", .takenWhole) {
            $0.second.representation = Representation(seed: 52, size: size)
        },
        Branch("the representation changed its length too", .takenWhole) {
            $0.second.representation = Representation(seed: 52, size: 400_000)
        },
        Branch("a weak ETag", .takenWhole) {
            $0.first.representation.etag = "W/\"weak\""
            $0.second.representation = $0.first.representation
            $0.asksForRange = false
        },
        Branch("no validator", .takenWhole) {
            $0.first.representation.etag = nil
            $0.second.representation = $0.first.representation
            $0.asksForRange = false
        },
        Branch("Last-Modified long before Date", .continues) {
            $0.first.representation.etag = nil
            $0.first.representation.lastModified = Date(timeIntervalSince1970: 1_700_000_000)
            $0.second.representation = $0.first.representation
        },
        Branch("Last-Modified in the second of Date", .takenWhole) {
            $0.first.representation.etag = nil
            $0.first.representation.lastModified = $0.first.date
            $0.second.representation = $0.first.representation
            $0.asksForRange = false
        },
        Branch("a strong ETag that becomes weak", .takenWhole) { $0.second.representation.etag = "W/\"v51\"" },
        Branch("chunked without a length, then 206", .continues) { $0.first.framing = .chunked },
        Branch("a Content-Encoding on the first answer", .takenWhole) {
            $0.first.contentEncoding = "gzip"
            $0.second.contentEncoding = "gzip"
            $0.asksForRange = false
        },
        Branch("a Content-Encoding on the 206 only", .startsOver) {
            $0.second.contentEncoding = "gzip"
        },
    ]

    @Test(arguments: branches)
    func `no response to a resumed download leads to a wrong file`(branch: Branch) async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            request.number == 1 ? branch.first.with { $0.cutAfter = Self.cut } : branch.second
        }
        try await work.fetchUntilCut(origin.url())
        let (outcome, answer) = try await work.fetchJSON("--retry", "0", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let content = branch.second.representation.content
        #expect(content.equalsFile(at: answer.path ?? ""), "not what the origin has: \(outcome)")

        let requests = origin.requests.dropFirst()
        let asked = try #require(requests.first)
        #expect(asked["Range"] == (branch.asksForRange ? "bytes=\(Self.cut)-" : nil))
        #expect((asked["If-Range"] != nil) == branch.asksForRange)
        switch branch.expectation {
        case .continues:
            #expect(requests.count == 1)
            #expect(answer.source == "resumed")
            #expect(answer.resumedFrom == Self.cut)
            #expect(answer.bytesTransferred == Self.size - Self.cut)
        case .continuesInParts(let count):
            #expect(requests.count == count)
            #expect(answer.source == "resumed")
            #expect(answer.resumedFrom == Self.cut)
            #expect(answer.bytesTransferred == Self.size - Self.cut)
        case .takenWhole:
            #expect(requests.count == 1)
            #expect(answer.source == "network")
            #expect(answer.resumedFrom == 0)
            #expect(answer.bytesTransferred == content.size)
        case .startsOver:
            #expect(requests.count == 2)
            #expect(requests.last?["Range"] == nil)
            #expect(answer.resumedFrom == 0)
            #expect(requests.last?.bodyBytesSent == content.size)
        }
        try await work.expectSoundStore()
    }

    @Test(arguments: [404, 403, 410, 500, 503])
    func `an error status leaves the partial as it is`(status: Int) async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            switch request.number {
            case 1: Behaviour(Self.original).with { $0.cutAfter = Self.cut }
            case 2: .status(status)
            default: Behaviour(Self.original)
            }
        }
        try await work.fetchUntilCut(origin.url())
        #expect(try await work.fetch("--retry", "0", origin.url()).ending == .exited(4))
        let (outcome, answer) = try await work.fetchJSON(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(answer.resumedFrom == Self.cut)
        #expect(Self.original.content.equalsFile(at: answer.path ?? ""))
    }

    @Test func `a 416 with the held length and validator means that the file is complete`() async throws {
        let whole = Representation(seed: 53, size: 12 * blockSize)
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            Behaviour(whole).with {
                $0.framing = .chunked
                if request.number == 1 { $0.cutAfter = whole.size }
            }
        }
        try await work.fetchUntilCut(origin.url())
        let (outcome, answer) = try await work.fetchJSON(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(whole.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.bytesTransferred == 0)
        #expect(origin.requests.count == 2)
        #expect(origin.requests.last?.status == 416)
    }

    @Test func `an origin that always answers 416 is asked once more, and is then an error`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            request.number == 1 ? Behaviour(Self.original).with { $0.cutAfter = Self.cut } : .status(416)
        }
        try await work.fetchUntilCut(origin.url())
        #expect(try await work.fetch(origin.url()).ending == .exited(4))
        #expect(origin.requests.count == 3)
    }

    @Test(arguments: ["before", "after"])
    func `a redirect to another origin between attempts never splices, though the ETags are equal`(
        redirected: String
    ) async throws {
        let elsewhere = Representation(seed: 54, size: Self.size, etag: "\"v51\"")
        let other = try ScriptedOrigin(serving: elsewhere)
        let third = try ScriptedOrigin { _ in Behaviour(Self.original).with { $0.cutAfter = Self.cut } }
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            if request.number > 1 { return .redirect(to: other.url()) }
            if redirected == "before" { return .redirect(to: third.url()) }
            return Behaviour(Self.original).with { $0.cutAfter = Self.cut }
        }
        try await work.fetchUntilCut(origin.url())
        let (outcome, answer) = try await work.fetchJSON(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(elsewhere.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.resumedFrom == 0)
    }

    @Test func `a redirect to the same place as before continues`() async throws {
        let place = try ScriptedOrigin { request in
            Behaviour(Self.original).with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { _ in .redirect(to: place.url("/there")) }
        try await work.fetchUntilCut(origin.url())
        let answer = try await work.fetchJSON(origin.url()).answer
        #expect(answer.resumedFrom == Self.cut)
        #expect(Self.original.content.equalsFile(at: answer.path ?? ""))
    }

    @Test func `a Content-Length that promises more than comes is a cut, and nothing is stored`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { _ in
            Behaviour(Self.original).with { $0.framing = .lyingContentLength(by: 100) }
        }
        let outcome = try await work.fetch("--retry", "0", origin.url())
        #expect(outcome.ending == .exited(3) || outcome.ending == .exited(5), "\(outcome)")
        #expect(outcome.lines.isEmpty)
        #expect(try await work.fetch("--offline", origin.url()).ending == .exited(7))
    }

    @Test func `a Content-Length that promises less than comes is the length`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { _ in
            Behaviour(Self.original).with { $0.framing = .lyingContentLength(by: -100) }
        }
        // RFC 9112 section 6.3: the message ends there; what follows belongs to no response.
        let outcome = try await work.fetch(origin.url())
        let stored = FileManager.default.contents(atPath: outcome.lines.first ?? "")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(stored == Data(Self.original.content.bytes(0..<(Self.size - 100))))
    }

    @Test func `a 206 that ends before its range does is a cut, judged against the total`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.original).with {
                if request.number == 1 { $0.cutAfter = Self.cut }
                if request.number == 2 { $0.rangeFault = .short(by: 700_000) }
            }
        }
        try await work.fetchUntilCut(origin.url())
        let answer = try await work.fetchJSON(origin.url()).answer
        #expect(Self.original.content.equalsFile(at: answer.path ?? ""))
        #expect(origin.requests.count == 3)
        #expect(origin.bodyBytesSent <= Self.size + 2 * blockSize)
    }

    @Test func `cut again and again, each attempt continues where the last one stopped`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.original).with {
                $0.cutAfter = 800_000
                $0.cutsByReset = request.number % 2 == 0
            }
        }
        let (outcome, answer) = try await work.fetchJSON(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.original.content.equalsFile(at: answer.path ?? ""))
        let cuts = Int64(origin.requests.count - 1)
        #expect(cuts >= 3)
        #expect(origin.bodyBytesSent <= Self.size + cuts * blockSize)
        #expect(answer.bytesTransferred == origin.bodyBytesSent)
    }

    @Test(arguments: [["-H", "Accept-Language: fr"], ["-A", "other/1.0"]])
    func `a partial of one variant is never resumed with another of equal date and length`(
        other: [String]
    ) async throws {
        let saved = Date(timeIntervalSince1970: 1_700_000_000)
        var first = Representation(seed: 56, size: Self.size, etag: "", lastModified: saved)
        var second = Representation(seed: 57, size: Self.size, etag: "", lastModified: saved)
        first.fields = [("Vary", "Accept-Language, User-Agent")]
        second.fields = first.fields
        let variants = [first, second]
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            let isOther = request["Accept-Language"] == "fr" || request["User-Agent"] == "other/1.0"
            if request.number == 2 { return .status(404) }
            return Behaviour(variants[isOther ? 1 : 0]).with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
        try await work.fetchUntilCut(origin.url())
        // An error status for the other one costs the first nothing.
        #expect(try await work.command.run(["fetch"] + other + [origin.url()]).ending == .exited(4))
        let continued = try await work.fetchJSON(origin.url()).answer
        #expect(continued.resumedFrom == Self.cut)
        #expect(first.content.equalsFile(at: continued.path ?? ""))

        #expect(try await work.run("clear").ending == .exited(0))
        let next = try ScriptedOrigin { request in
            let isOther = request["Accept-Language"] == "fr" || request["User-Agent"] == "other/1.0"
            return Behaviour(variants[isOther ? 1 : 0]).with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
        try await work.fetchUntilCut(next.url())
        let outcome = try await work.command.run(["fetch", "--json"] + other + [next.url()])
        let answer = try FetchReport(outcome)
        #expect(next.requests.last?["Range"] == nil)
        #expect(second.content.equalsFile(at: answer.path ?? ""), "spliced: \(outcome)")
    }

    @Test func `--no-resume discards the partial and starts over`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.original).with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
        try await work.fetchUntilCut(origin.url())
        let answer = try await work.fetchJSON("--no-resume", origin.url()).answer
        #expect(origin.requests.last?["Range"] == nil)
        #expect(answer.bytesTransferred == Self.size)
        #expect(Self.original.content.equalsFile(at: answer.path ?? ""))
    }
}
