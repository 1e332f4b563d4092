import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

@Suite(.serialized, .fewAtATime(limit: .seconds(180))) struct KilledServerTests {
    @Test
    func `a server that was killed under load serves intact files at once when it restarts`() async throws {
        let origin = try ScriptedOrigin(sendBuffer: nil) { request in
            var behaviour = Behaviour(Self.file(request.path))
            behaviour.bytesPerSecond = 40_000_000
            return behaviour
        }
        var generator = SeededGenerator(for: "KilledServerTests")
        let directory = try TestDirectory()
        for round in 0..<8 {
            let server = try await ServerProcess(origin: origin.url(""), directory: directory)
            // Whatever the last kill interrupted is served, right at the first request.
            #expect(try Client(server.port).get("/0")?.body == Self.file("/0").content.bytes(), "round \(round)")
            let stop = Locked(false)
            let faults = Locked<[String]>([])
            let right = Locked(0)
            let port = server.port
            let seeds = (0..<8).map { _ in UInt64.random(in: 0...UInt64.max, using: &generator) }
            let readers = seeds.map { seed in
                Task {
                    try? await onThreadOfItsOwn {
                        var random = SeededGenerator(seed: seed)
                        while !stop.withLock({ $0 }), let client = try? Client(port) {
                            let path = "/\(random.next() % 30)"
                            // A connection that ends early is what a kill looks like; what came must be right.
                            guard let answer = client.get(path) else { break }
                            let expected = Self.file(path).content.bytes()
                            if answer.status == 200, answer.body == expected {
                                right.withLock { $0 += 1 }
                            } else {
                                faults.withLock { $0.append("\(path): \(answer.status), \(answer.body.count) bytes") }
                            }
                        }
                    }
                }
            }
            // The kill comes at a random moment.
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...600, using: &generator)))
            server.process.send(signal: SIGKILL)
            stop.withLock { $0 = true }
            for reader in readers { await reader.value }
            #expect(faults.withLock { $0 } == [], "round \(round)")
            #expect(await server.process.end() == .signaled(SIGKILL))
        }
        let server = try await ServerProcess(origin: origin.url(""), directory: directory)
        let client = try Client(server.port)
        for number in 0..<30 {
            #expect(client.get("/\(number)")?.body == Self.file("/\(number)").content.bytes())
        }
        let asked = origin.requests.count
        for number in 0..<30 { #expect(client.get("/\(number)")?["Cache-Status"]?.contains("hit") == true) }
        #expect(origin.requests.count == asked)
    }

    private static func file(_ path: String) -> Representation {
        let number = UInt64(path.dropFirst()) ?? 0
        return Representation(seed: number + 1000, size: 30_000 + Int64(number) * 60_000)
    }
}
