import Foundation
import TestSupport
import Testing

/// A hostile or broken origin gets a clear error out of the command: no crash, no hang, no unbounded memory or disk.
@Suite(.fewAtATime(limit: .seconds(240))) struct HostileFetchTests {
    private let work: TestWorkspace

    init() throws {
        work = try TestWorkspace()
    }

    /// Fetches from an origin that answers with these steps, and expects a failure that names the URL.
    private func expectFailure(
        _ steps: [OriginStep], arguments: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let origin = try ScriptedOrigin(script: { _ in steps })
        let outcome = try await work.command.run(
            ["fetch", "--retry", "0", "-m", "20"] + arguments + [origin.url("/a")])
        guard case .exited(let code) = outcome.ending else {
            Issue.record("\(outcome)", sourceLocation: sourceLocation)
            return
        }
        #expect([3, 4, 5, 6].contains(code), "\(outcome)", sourceLocation: sourceLocation)
        #expect(outcome.lines.isEmpty, sourceLocation: sourceLocation)
        #expect(outcome.errorOutput.contains(origin.url("/a")), "\(outcome)", sourceLocation: sourceLocation)
        #expect(
            try await work.fetch("--offline", origin.url("/a")).ending == .exited(7), sourceLocation: sourceLocation)
    }

    @Test func `a body without end stops at the store's capacity`() async throws {
        let endless = Content(seed: 1, size: 1 << 40)
        try await expectFailure(
            [
                .head(status: 200, fields: [("Transfer-Encoding", "chunked"), ("ETag", "\"a\"")]),
                .chunks(endless, 0..<(1 << 40), chunkSize: 65_536),
            ], arguments: ["--capacity", "8MiB"])
        #expect(DiskUsage.bytes(at: work.cache) <= 8 << 20)
    }

    @Test func `a body that is said to be larger than the capacity is refused before its first byte`() async throws {
        let origin = try ScriptedOrigin { _ in Behaviour(Representation(seed: 1, size: 1 << 40)) }
        let outcome = try await work.fetch("--capacity", "8MiB", origin.url())
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(DiskUsage.bytes(at: work.cache) < 1 << 20)
        #expect(await origin.waits { $0.first?.ending == .peerGone })
        #expect(origin.bodyBytesSent < 8 << 20)
    }

    @Test func `a connection that ends inside the head is retried and then reported as such`() async throws {
        let steps: [OriginStep] = [.raw("HTTP/1.1 200 OK\r\nContent-Le"), .cut(reset: false)]
        let origin = try ScriptedOrigin(script: { _ in steps })
        let outcome = try await work.fetch("--retry", "1", origin.url())
        #expect(outcome.ending == .exited(3))
        #expect(outcome.errorOutput.contains("the connection ended inside the response head"), "\(outcome)")
        #expect(origin.requests.count == 2)
    }

    @Test func `bytes that crossed the network for nothing are counted`() async throws {
        let representation = Representation(seed: 2, size: 600_000)
        let origin = try ScriptedOrigin { _ in Behaviour(representation).with { $0.cutAfter = 500_000 } }
        let cut = try await work.fetchJSON("--retry", "0", origin.url("/a")).answer
        #expect(cut.bytesTransferred == 500_000)
        let whole = try ScriptedOrigin(serving: representation)
        let digest = String(repeating: "0", count: 64)
        let (outcome, wrong) = try await work.fetchJSON("--sha256", digest, whole.url())
        #expect(outcome.ending == .exited(5))
        #expect(wrong.bytesTransferred == 600_000)
    }

    @Test func `a response head without end fails the fetch`() async throws {
        let field = OriginStep.raw("X-Filler: \(String(repeating: "x", count: 60_000))\r\n")
        try await expectFailure([.raw("HTTP/1.1 200 OK\r\n")] + Array(repeating: field, count: 2000))
    }

    @Test func `endless interim responses fail the fetch`() async throws {
        try await expectFailure(
            Array(repeating: .raw("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), count: 200_000))
    }

    @Test(arguments: ["-5", "99999999999999999999999999", "abc", "10, 20"])
    func `an invalid Content-Length fails the fetch`(length: String) async throws {
        try await expectFailure([
            .head(status: 200, fields: [("Content-Length", length)]), .body(Array("0123456789".utf8)),
            .cut(reset: false),
        ])
    }

    @Test(arguments: ["ZZ\r\n", "FFFFFFFFFFFFFFFFFF\r\n", "-1\r\n"])
    func `an invalid chunk size fails the fetch`(size: String) async throws {
        try await expectFailure([
            .head(status: 200, fields: [("Transfer-Encoding", "chunked")]), .raw(size), .body(Array("0123456789".utf8)),
            .cut(reset: false),
        ])
    }

    @Test func `a redirect to itself fails the fetch after a limited number of requests`() async throws {
        let origin = try ScriptedOrigin { _ in .redirect(to: "/a") }
        let outcome = try await work.fetch("--retry", "0", origin.url("/a"))
        #expect(outcome.ending == .exited(3) || outcome.ending == .exited(4), "\(outcome)")
        #expect(origin.requests.count <= 21)
    }

    @Test(arguments: ["gopher://127.0.0.1/", "javascript:alert(1)", "http://", "//", "http://[::1", "http://a b/"])
    func `a redirect to an invalid or unsupported URL fails the fetch`(location: String) async throws {
        try await expectFailure([.head(status: 302, fields: [("Location", location), ("Content-Length", "0")])])
    }

    @Test func `a random status line fails the fetch`() async throws {
        var generator = SeededGenerator(for: "noise")
        for _ in 0..<20 {
            let noise = (0..<Int.random(in: 1...2000, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            try await expectFailure([.body(noise), .cut(reset: Bool.random(using: &generator))])
        }
    }

    @Test func `random header fields after a valid status line do not break the fetch`() async throws {
        var generator = SeededGenerator(for: "head")
        let names = ["ETag", "Content-Range", "Cache-Control", "Vary", "Date", "Age", "Expires", "Content-Disposition"]
        for round in 0..<20 {
            let fields = names.map { name in
                let value = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                    Character(Unicode.Scalar(UInt8.random(in: 0x20...0x7E, using: &generator)))
                }
                return (name: name, value: String(value))
            }
            let origin = try ScriptedOrigin(script: { _ in
                [.head(status: 200, fields: fields + [("Content-Length", "5")]), .body(Array("hello".utf8))]
            })
            for _ in 1...2 {
                let outcome = try await work.fetch("-o", "file\(round)", origin.url("/\(round)"))
                #expect(outcome.ending == .exited(0), "\(fields): \(outcome)")
            }
            #expect(FileManager.default.contents(atPath: work.output("file\(round)")) == Data("hello".utf8))
        }
    }

    @Test func `escape sequences in a server's words do not reach the terminal`() async throws {
        let origin = try ScriptedOrigin { _ in
            .status(404, fields: [("X-Title", "\u{1B}]0;owned\u{7}"), ("Server", "a\u{1B}[2Jb")])
        }
        let outcome = try await work.fetch("-v", origin.url())
        #expect(outcome.ending == .exited(4))
        #expect(!outcome.errorOutput.contains("\u{1B}"), "\(outcome)")
    }
}
