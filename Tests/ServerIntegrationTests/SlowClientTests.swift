import Foundation
import Glibc
import ImageCache
import TestSupport
import Testing

/// Answers that are larger than what the kernel holds for a client, and clients that take their time.
@Suite(.fewAtATime(limit: .seconds(180))) struct SlowClientTests {
    /// A JPEG whose PNG is several megabytes: noise.
    private static let noise: [UInt8] = {
        var generator = SeededGenerator(seed: 12)
        let image = try? DecodedImage(width: 1400, height: 1000) { memory in
            for index in 0..<(1400 * 1000) {
                let value = generator.next()
                for channel in 0..<3 { memory[index * 4 + channel] = UInt8(truncatingIfNeeded: value >> (channel * 8)) }
                memory[index * 4 + 3] = 255
            }
        }
        return image.flatMap { try? ImageEncoder.jpeg(quality: 60).encode($0) } ?? []
    }()

    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { _ in
            [
                .head(
                    status: 200,
                    fields: [
                        ("Cache-Control", "max-age=600"), ("ETag", "\"1\""), ("Content-Length", "\(noise.count)"),
                    ]), .body(noise),
            ]
        }
    }

    private static let path = "/image/format=png/a"

    /// The image as a client gets it that reads at once; from then on memory has it.
    private func warm(_ server: ServerProcess) throws -> [UInt8] {
        let whole = try #require(try Client(server.port).get(Self.path)).body
        #expect(whole.count > 2 << 20)
        return whole
    }

    /// The time at which a client closes its sending side.
    enum HalfClose: CaseIterable { case never, afterRequest, afterResponse }

    @Test(
        arguments: ["HTTP/1.0\r\n", "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", "HTTP/1.1\r\nHost: x\r\n"],
        HalfClose.allCases)
    func `a client that begins to read late gets all of its last answer`(
        head: String, halfClose: HalfClose
    ) async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let whole = try warm(server)
        let client = try Client(server.port, receiveBuffer: 4096)
        client.send("GET \(Self.path) \(head)\r\n")
        if halfClose == .afterRequest { client.finish() }
        // So long that the server has written all that the sockets hold, and waits for room.
        try await Task.sleep(for: .milliseconds(2500))
        if halfClose == .afterResponse { client.finish() }
        #expect(client.answer()?.body == whole)
        // Whole, though the client went right after its last byte.
        #expect(await server.logs { $0.count == 2 })
        #expect(server.log.allSatisfy { $0["cut_short"] == nil }, "\(server.log)")
    }

    @Test func `the write timeout restarts with each part that the client reads`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""), "--write-timeout", "6s")
        let whole = try warm(server)
        // On a machine that is so slow that a pause takes half of the time-out, the server may be right to cut the client off.
        let limit = Duration.seconds(3)
        for _ in 0..<20 {
            let client = try Client(server.port, receiveBuffer: 4096)
            client.send("GET \(Self.path) HTTP/1.1\r\nHost: x\r\n\r\n")
            var longest = Duration.zero
            func timed<Value>(_ read: () async throws -> Value) async rethrows -> Value {
                let began = ContinuousClock.now
                defer { longest = max(longest, ContinuousClock.now - began) }
                return try await read()
            }
            for part in 1...5 {
                let hasPiece = try await timed {
                    // The five pieces together take longer than the time-out.
                    try await Task.sleep(for: .milliseconds(1600))
                    return client.receive(atLeast: whole.count / 8 * part)
                }
                #expect(hasPiece || longest > limit)
            }
            let isWhole = await timed { client.answer()?.body == whole }
            if longest > limit, !isWhole { continue }
            #expect(isWhole)
            return
        }
        Issue.record("no pause was shorter than half of the time-out")
    }

    @Test func `a stopping server lets a client read the response that was written for it`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let whole = try warm(server)
        let client = try Client(server.port, receiveBuffer: 4096)
        client.send("GET \(Self.path) HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(client.receive(atLeast: 1000))
        server.process.send(signal: SIGTERM)
        #expect(await server.process.says("stopping"))
        // A server that cut its clients off would be gone by then.
        try await Task.sleep(for: .milliseconds(300))
        #expect(client.answer()?.body == whole)
        #expect(await server.process.end() == .exited(0))
        #expect(!server.process.errorOutput.contains("EventLoop"), "\(server.process.errorOutput)")
    }

    @Test func `a large image that many clients do not take is in memory once`() async throws {
        let origin = try Self.origin()
        let server = try await ServerProcess(origin: origin.url(""))
        _ = try warm(server)
        let before = server.residentMemory
        let clients = try (0..<40).map { _ in try Client(server.port, receiveBuffer: 4096) }
        for client in clients { client.send("GET \(Self.path) HTTP/1.1\r\nHost: x\r\n\r\n") }
        for client in clients { #expect(client.receive(atLeast: 1000)) }
        // 40 copies would be more than 100 MiB.
        if !isSanitized() { #expect(server.residentMemory - before < 32 << 20) }
    }

    @Test func `a connection with many requests does not keep the bytes that it has read`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 7, size: 100))
        let server = try await ServerProcess(origin: origin.url(""), "--max-header-size", "64KiB")
        let client = try Client(server.port)
        #expect(client.get("/a")?.status == 200)
        let request = Array("GET /a HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n".utf8)
        let before = server.residentMemory
        client.send(Array(request.prefix(10)))
        // Each time the rest of one request and the beginning of the next: the buffer is never empty.
        for _ in 0..<2500 {
            client.send(Array(request.dropFirst(10)) + request.prefix(10))
            #expect(client.answer()?.status == 200)
        }
        if !isSanitized() { #expect(server.residentMemory - before < 24 << 20) }
    }
}
