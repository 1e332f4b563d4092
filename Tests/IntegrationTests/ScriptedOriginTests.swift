import Foundation
import Testing

@testable import TestSupport

/// The origin that all other tests trust, held against curl: an independent client.
@Suite(.fewAtATime) struct ScriptedOriginTests {
    private let directory: TestDirectory

    init() throws {
        directory = try TestDirectory()
    }

    private func curl(_ arguments: String...) async throws -> CommandRunner.Outcome {
        let process = try ChildProcess(
            "curl", ["-sS", "--noproxy", "*", "-o", directory.path("body"), "-D", "/dev/stdout"] + arguments,
            environment: ProcessInfo.processInfo.environment)
        return await CommandRunner.outcome(of: process)
    }

    @Test func `the bytes that a peer has not read yet are counted`() throws {
        let (listener, port) = try Socket.listening()
        let client = try Socket.connected(to: port)
        let connection = try #require(listener.accepted())
        defer { for socket in [listener, client, connection] { socket.finish(reset: true) } }
        let bytes = [UInt8](repeating: 1, count: 20_000)
        #expect(bytes.withUnsafeBytes(connection.sent) == 20_000)
        block { connection.unacknowledged == 0 }
        #expect(connection.unreadByPeer == 20_000)
        #expect(client.received(upTo: 5000).count == 5000)
        #expect(connection.unreadByPeer == 15_000)
        #expect(client.unreadByPeer == 0)
    }

    @Test func `a representation is served whole, and each body byte is counted`() async throws {
        let representation = Representation(seed: 1, size: 300_001)
        let origin = try ScriptedOrigin(serving: representation)
        let outcome = try await curl(origin.url("/a"))
        #expect(outcome.ending == .exited(0))
        #expect(outcome.output.contains("ETag: \"v1\""))
        #expect(representation.content.equalsFile(at: directory.path("body")))
        #expect(SHA256.hex(ofFile: directory.path("body")) == representation.content.sha256)
        // The client may have read everything before the origin has counted it.
        #expect(await origin.waits { $0.map(\.ending) == [.completed] })
        #expect(origin.bodyBytesSent == 300_001)
    }

    @Test func `a range whose If-Range names the strong ETag is a 206, any other is the whole`() async throws {
        let representation = Representation(seed: 2, size: 100_000)
        let origin = try ScriptedOrigin(serving: representation)
        let partial = try await curl("-H", "Range: bytes=90000-", "-H", "If-Range: \"v2\"", origin.url())
        #expect(partial.output.contains("Content-Range: bytes 90000-99999/100000"))
        #expect(
            try Data(contentsOf: URL(filePath: directory.path("body")))
                == Data(representation.content.bytes(90_000..<100_000)))
        let other = try await curl("-H", "Range: bytes=90000-", "-H", "If-Range: \"v3\"", origin.url())
        #expect(other.output.hasPrefix("HTTP/1.1 200"))
        #expect(origin.requests.map(\.bodyBytesSent) == [10_000, 100_000])
    }

    @Test func `HEAD, 304 and 416 have no body`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 3, size: 10))
        #expect(try await curl("-I", origin.url()).output.contains("Content-Length: 10"))
        #expect(try await curl("-H", "If-None-Match: W/\"v3\"", origin.url()).output.hasPrefix("HTTP/1.1 304"))
        #expect(try await curl("-H", "Range: bytes=10-", origin.url()).output.contains("Content-Range: bytes */10"))
        #expect(origin.bodyBytesSent == 0)
    }

    @Test func `a cut ends the body after the bytes that were allowed`() async throws {
        let origin = try ScriptedOrigin { request in
            var behaviour = Behaviour(Representation(seed: 4, size: 1_000_000))
            behaviour.cutAfter = 123_456
            behaviour.cutsByReset = request.number == 2
            return behaviour
        }
        for _ in 1...2 {
            let outcome = try await curl(origin.url())
            #expect(outcome.ending != .exited(0))
            #expect(try Data(contentsOf: URL(filePath: directory.path("body"))).count == 123_456)
        }
        #expect(origin.requests.map(\.bodyBytesSent) == [123_456, 123_456])
    }

    @Test func `a chunked body and one that ends with the connection arrive whole`() async throws {
        let representation = Representation(seed: 5, size: 54_321)
        let origin = try ScriptedOrigin { request in
            var behaviour = Behaviour(representation)
            behaviour.framing = request.number == 1 ? .chunked : .untilClose
            return behaviour
        }
        for _ in 1...2 {
            #expect(try await curl(origin.url()).ending == .exited(0))
            #expect(representation.content.equalsFile(at: directory.path("body")))
        }
    }

    @Test func `a throttled body is no faster than its rate`() async throws {
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 5, size: 500_000)).with { $0.bytesPerSecond = 2_000_000 }
        }
        let start = ContinuousClock.now
        #expect(try await curl(origin.url()).ending == .exited(0))
        #expect(ContinuousClock.now - start >= .milliseconds(240))
    }

    @Test func `a child's standard error can be a terminal of a given width`() async throws {
        let terminal = try PseudoTerminal(columns: 63)
        let child = try ChildProcess(
            "/bin/sh", ["-c", "test -t 2 && stty size <&2 >&2"], environment: [:], terminal: terminal)
        #expect(await child.end() == .exited(0))
        await eventually { terminal.text.contains("\n") }
        #expect(terminal.text == "24 63\r\n")
    }

    @Test func `killing a child that is crashing records an issue`() async throws {
        let child = try ChildProcess(
            "/bin/sh", ["-c", "echo '*** Signal 11: Backtracing from 0x1...' >&2; exec sleep 60"], environment: [:])
        #expect(await child.says("***"))
        withKnownIssue { child.send(signal: SIGKILL) }
        #expect(await child.end() == .signaled(SIGKILL))
    }

    @Test func `content differs by seed and by place`() {
        let content = Content(seed: 6, size: 1 << 20)
        #expect(content.bytes(5..<100_000) == Array(content.bytes(0..<100_000)[5...]))
        #expect(Content(seed: 7, size: 1 << 20).bytes(0..<4096) != content.bytes(0..<4096))
        #expect(content.bytes(0..<4096) != content.bytes(65_537..<69_633))
    }

    @Test(.enabled(if: Nginx.unavailableReason == nil, "\(Nginx.unavailableReason ?? "")"))
    func `nginx serves a file over TLS with the test's authority and logs the bytes`() async throws {
        var options = Nginx.Options()
        options.authority = try await TestCA()
        let nginx = try await Nginx(options)
        let content = Content(seed: 8, size: 70_000)
        try nginx.serve(content, as: "file")
        #expect(try await curl(nginx.url("/file")).ending == .exited(60))
        let trusted = try await curl("--cacert", options.authority?.certificate ?? "", "-r", "5-", nginx.url("/file"))
        #expect(trusted.ending == .exited(0))
        let logged = try await nginx.requests(atLeast: 1)
        #expect(logged.map(\.status) == [206])
        #expect(logged.map(\.bodyBytesSent) == [69_995])
        #expect(logged.first?.range == "bytes=5-")
    }

    @Test(.enabled(if: Tmpfs.unavailableReason == nil, "\(Tmpfs.unavailableReason ?? "")"))
    func `a small file system fills up and can be made read-only`() throws {
        let tmpfs = try Tmpfs(size: 1 << 20)
        #expect(throws: SystemCallFailure.self) { try Content(seed: 9, size: 2 << 20).write(to: tmpfs.path + "/full") }
        try tmpfs.resize(to: 4 << 20)
        try Content(seed: 9, size: 2 << 20).write(to: tmpfs.path + "/fits")
        #expect(DiskUsage.bytes(at: tmpfs.path) >= 2 << 20)
        try tmpfs.setReadOnly(true)
        #expect(throws: SystemCallFailure.self) { try Content(seed: 9, size: 1).write(to: tmpfs.path + "/refused") }
    }
}
