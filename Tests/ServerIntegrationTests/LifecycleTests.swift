import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

@Suite(.fewAtATime) struct LifecycleTests {
    @Test func `SIGTERM finishes running requests, accepts no new ones and exits with code 0`() async throws {
        let gate = Gate()
        let file = Representation(seed: 1, size: 2_000_000)
        let origin = try ScriptedOrigin { _ in
            var behaviour = Behaviour(file)
            behaviour.bodyGate = (500_000, gate)
            return behaviour
        }
        let server = try await ServerProcess(origin: origin.url(""))
        let idle = try Client(server.port)
        let running = try Client(server.port)
        running.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(await origin.waits { ($0.first?.bodyBytesSent ?? 0) >= 400_000 })
        server.process.send(signal: SIGTERM)
        #expect(await server.process.says("stopping"))
        #expect(idle.isEnded)
        #expect(throws: (any Error).self) { try Client(server.port) }
        gate.open()
        let answer = running.answer()
        #expect(answer?.body == file.content.bytes(0..<file.size))
        #expect(running.isEnded)
        #expect(await server.process.end() == .exited(0))
        #expect(server.log.contains { $0["status"] as? Int == 200 })
    }

    @Test
    func `after the grace period, running transfers are cut, and a restarted server resumes them`() async throws {
        let file = Representation(seed: 2, size: 4_000_000)
        let origin = try ScriptedOrigin { request in
            var behaviour = Behaviour(file)
            if request.number == 1 { behaviour.stallAfter = 2_000_000 }
            return behaviour
        }
        let directory = try TestDirectory()
        let server = try await ServerProcess(
            origin: origin.url(""), "--grace-period", "100ms", "--cache-dir", directory.path("store"))
        let running = try Client(server.port)
        running.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(await origin.waits { ($0.first?.bodyBytesSent ?? 0) >= 1_900_000 })
        server.process.send(signal: SIGINT)
        #expect(await server.process.end() == .exited(0))
        #expect(running.answer() == nil)

        let second = try await ServerProcess(origin: origin.url(""), "--cache-dir", directory.path("store"))
        #expect(try Client(second.port).get("/a")?.body == file.content.bytes(0..<file.size))
        #expect(origin.requests.last?["Range"]?.hasPrefix("bytes=") == true)
    }

    @Test
    func `SIGHUP applies what it can, reports the rest, and keeps the former settings after an error`() async throws {
        let directory = try TestDirectory()
        let origin = try ScriptedOrigin(serving: Representation(seed: 3, size: 100))
        let file = try directory.write(#"{"log-level": "info", "retry-after": 1}"#, to: "server.json")
        let server = try await ServerProcess(origin: origin.url(""), "--config", file)
        try directory.write(#"{"log-level": "error", "retry-after": "never"}"#, to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("retry-after \"never\""), "\(server.process.errorOutput)")
        try directory.write(#"{"log-level": "info", "retry-after": 2, "threads": 3}"#, to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("settings=threads"), "\(server.process.errorOutput)")
        try directory.write(#"{"log-level": "info", "retry-after": 2, "max-requests": 5000}"#, to: "server.json")
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("settings=max-requests"), "\(server.process.errorOutput)")
        #expect(try Client(server.port).get("/a")?.status == 200)
    }

    @Test func `with log-format json each message is an object, and the first says what is served`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 3, size: 100))
        let server = try await ServerProcess(origin: origin.url(""), "--log-format", "json")
        await server.stop()
        let lines = server.process.errorOutput.split(separator: "\n")
        let objects = lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        #expect(objects.count == lines.count && lines.count >= 3, "\(lines)")
        let start = try #require(objects.first { ($0["message"] as? String)?.contains("listening on") == true })
        #expect((start["message"] as? String)?.hasPrefix("imgcache-server 0.1.0 listening on 127.0.0.1:") == true)
        let data = try #require(start["data"] as? [String: String])
        #expect(data["origins"] == origin.url("") && data["capacity"] != nil && data["store"] != nil, "\(data)")
    }

    @Test func `systemd is notified when the server is ready, reloads and stops`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("notify")
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        func told() -> String {
            var buffer = [UInt8](repeating: 0, count: 256)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }
        let origin = try ScriptedOrigin(serving: Representation(seed: 3, size: 100))
        let server = try await ServerProcess(origin: origin.url(""), environment: ["NOTIFY_SOCKET": path])
        #expect(told() == "READY=1")
        server.process.send(signal: SIGHUP)
        #expect(told().hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(told() == "READY=1")
        server.process.send(signal: SIGTERM)
        #expect(told() == "STOPPING=1")
        #expect(await server.process.end() == .exited(0))
    }

    @Test func `the access log writes each request as one JSON object`() async throws {
        let directory = try TestDirectory()
        let origin = try ScriptedOrigin(serving: Representation(seed: 4, size: 1234))
        let server = try await ServerProcess(origin: origin.url(""), "--access-log", directory.path("log"))
        let client = try Client(server.port)
        _ = client.get("/a?b=c", "User-Agent: t\"ester", "X-Request-Id: one")
        _ = client.get("/a?b=c", "traceparent: 00-1-2-3", "X-Request-Id: two")
        _ = client.ask("nonsense\r\n\r\n")
        await server.stop()
        let text = try String(contentsOfFile: directory.path("log"), encoding: .utf8)
        let lines = try text.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: any Sendable])
        }
        try #require(lines.count == 3)
        #expect(lines[0]["target"] as? String == "/a?b=c")
        #expect(lines[0]["agent"] as? String == "t\"ester")
        #expect(lines[0]["client"] as? String == "127.0.0.1")
        #expect(lines.map { $0["status"] as? Int } == [200, 200, 400])
        #expect(lines.map { $0["cache"] as? String } == ["miss", "hit", "none"])
        #expect(lines.map { $0["bytes"] as? Int }.prefix(2) == [1234, 1234])
        #expect(lines[2]["method"] == nil && lines[2]["target"] == nil)
        #expect(lines[1]["id"] as? String == "two")
        #expect(lines[1]["traceparent"] as? String == "00-1-2-3")
        #expect(lines.allSatisfy { $0["ms"] is Double && $0["time"] is String })
    }
}

/// A server that stops answers, or closes in order, every connection that a client has got.
@Suite(.fewAtATime(limit: .seconds(180))) struct StoppingTests {
    @Test func `no connection is reset when the server stops while clients connect`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 5, size: 3000))
        for _ in 0..<3 {
            let server = try await ServerProcess(origin: origin.url(""), "--threads", "1")
            #expect(try Client(server.port).get("/a")?.status == 200)
            // GIVEN clients that connect and ask as quickly as they can
            let port = server.port
            let begun = Locked(0)
            let crowd = (0..<4).map { _ in
                Task { try await onThreadOfItsOwn { Arrivals(port) { begun.withLock { $0 += 1 } } } }
            }
            #expect(await eventually { begun.withLock { $0 } == 4 })
            server.process.send(signal: SIGTERM)
            // THEN each of them is answered, sees an end in order, or is not connected at all
            for task in crowd {
                let arrivals = try await task.value
                #expect(arrivals.failures.isEmpty, "\(arrivals)")
                #expect(arrivals.answered > 0)
            }
            #expect(await server.process.end() == .exited(0))
        }
    }

    @Test func `a client that has just connected may still ask when the server stops`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 5, size: 3000))
        let server = try await ServerProcess(origin: origin.url(""))
        let idle = try Client(server.port)
        let fresh = try Client(server.port)
        #expect(idle.get("/a")?.status == 200)
        server.process.send(signal: SIGTERM)
        // Its second request will not come: ended at once, and in order.
        #expect(idle.isEnded && idle.failure == 0)
        let answer = fresh.get("/a")
        #expect(answer?.status == 200 && answer?["Connection"] == "close")
        #expect(fresh.isEnded && fresh.failure == 0)
        #expect(await server.process.end() == .exited(0))
    }
}

/// Clients that connect one after the other until connecting fails, and their results.
private struct Arrivals {
    var answered = 0
    var ended = 0
    /// Error numbers of connections that broke.
    var failures: [Int32] = []

    /// - Parameter onFirst: Called after the first answer.
    init(_ port: UInt16, onFirst: () -> Void) {
        while let client = try? Client(port) {
            client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            if client.answer()?.status == 200 {
                answered += 1
                if answered == 1 { onFirst() }
            } else if client.failure == 0 {
                ended += 1
            } else {
                failures.append(client.failure)
            }
        }
    }
}
