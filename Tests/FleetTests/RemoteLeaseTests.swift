import CacheTestSupport
import Fleet
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Caches on several machines, which ask the origin once for all of them.
@Suite("Leases in a store that machines share", .timeLimit)
struct RemoteLeaseTests {
    private let representation = ScriptedRepresentation(
        ScriptedRepresentation.bytes(5000), [.cacheControl: "max-age=3600"])
    private let store = FakeObjectStore()

    private func machine(
        skewedBy seconds: Double = 0, _ change: (inout RemoteStoreConfiguration) -> Void = { _ in },
        _ script: @escaping @Sendable (ScriptedRequest) -> ScriptedResponse
    ) throws -> Bench {
        var remote = try store.configuration()
        change(&remote)
        let bench = try Bench(.shared, { [remote] in $0.remote = remote }, script: script)
        bench.advance(seconds: seconds)
        return bench
    }

    @Test(arguments: Bench.Consumer.allCases, [0.0, 600])
    func `machines that miss at the same time send one request, whatever their clocks show`(
        _ consumer: Bench.Consumer, _ skew: Double
    ) async throws {
        let gate = AsyncGate()
        let machines = try [0, skew, -skew].map { skew in
            // A client's patience depends on it, and this computer may be busy.
            try machine(skewedBy: skew, { $0.leaseTime = .seconds(300) }) { [representation] in
                representation.response(to: $0).after(gate)
            }
        }
        let bodies = try await withThrowingTaskGroup(of: Body.self) { group in
            for machine in machines { for _ in 0..<4 { group.addTask { try await machine.get(consumer).body } } }
            // One has the lease; the others have looked at it.
            #expect(await eventually { store.count(.get, of: "lease") >= 4 })
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies.count == 12 && bodies.allSatisfy { $0 == representation.content })
        #expect(machines.map(\.sent.count).sorted() == [0, 0, 1])
        let counts = machines.compactMap(\.cache.remoteStatistics)
        #expect(counts.reduce(0) { $0 + $1.leases } == 1 && counts.reduce(0) { $0 + $1.leaseWaits } == 2)
        #expect(counts.map(\.hits).sorted() == [0, 1, 1] && counts.map(\.misses).sorted() == [0, 0, 1])
        for machine in machines { await machine.cache.close() }
        #expect(store.keys(of: "lease").isEmpty)
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `another machine takes over from a holder that hangs`(_ consumer: Bench.Consumer) async throws {
        let gate = AsyncGate()
        // Its lease is not renewed while the test runs: that is to be every 100 s.
        let dead = try machine({ $0.leaseTime = .seconds(300) }) { [representation] in
            representation.response(to: $0).after(gate)
        }
        async let late = dead.get(consumer)
        #expect(await eventually { dead.sent.count == 1 })
        store.advance(seconds: 301)
        let others = try (0..<3).map { _ in
            try machine({ $0.leaseTime = .seconds(300) }) { [representation] in representation.response(to: $0) }
        }
        try await withThrowingTaskGroup(of: Body.self) { group in
            for other in others { group.addTask { try await other.get(consumer).body } }
            for try await body in group { #expect(body == representation.content) }
        }
        #expect(others.map(\.sent.count).reduce(0, +) == 1)
        #expect(others.compactMap(\.cache.remoteStatistics).reduce(0) { $0 + $1.leasesTakenOver } == 1)
        gate.open()
        #expect(try await late.body == representation.content)
        for machine in others + [dead] { await machine.cache.close() }
        #expect(store.keys(of: "lease").isEmpty)
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `no machine waits for a response that cannot be shared, and the next time no lease is taken`(
        _ consumer: Bench.Consumer
    ) async throws {
        let representation = ScriptedRepresentation(representation.bytes, [.cacheControl: "no-store"])
        let machines = try (0..<2).map { _ in try machine { representation.response(to: $0) } }
        for _ in 0..<2 {
            for machine in machines { #expect(try await machine.get(consumer).body == representation.content) }
        }
        #expect(machines.map(\.sent.count) == [2, 2] && store.count(.put, of: "lease") == 2)
        for machine in machines { await machine.cache.close() }
        #expect(store.keys(of: "lease").isEmpty)
    }

    @Test func `a response that is too long to be shared gives the lease back as soon as its head is there`()
        async throws
    {
        let gate = AsyncGate()
        let machine = try machine({ $0.maxBodySize = 4999 }) { [representation] in
            representation.response(to: $0).pausing(after: 10, for: gate)
        }
        async let file = machine.get(.file)
        #expect(await eventually { store.count(.put, of: "lease") == 1 && store.keys(of: "lease").isEmpty })
        gate.open()
        #expect(try await file.body == representation.content)
    }

    @Test func `an origin that fails gives the lease back`() async throws {
        let machine = try machine { _ in .failure() }
        #expect(await machine.failure(.file) == .unreachable)
        await machine.cache.close()
        #expect(store.count(.put, of: "lease") == 1 && store.keys(of: "lease").isEmpty)
    }

    @Test func `a store that ignores conditions gets no leases`() async throws {
        store.ignoresConditions = true
        let machine = try machine { [representation] in representation.response(to: $0) }
        #expect(await eventually { store.count(.delete, of: "probe") == 1 })
        // The probe ends with the response to its deletion.
        #expect(await eventually { machine.cache.remoteStatistics?.honoursConditions == false })
        _ = try await machine.get(.file)
        #expect(store.count(.put, of: "lease") == 0 && machine.sent == ["GET"])
    }

    @Test func `a lease time of zero turns leases off`() async throws {
        let machine = try machine({ $0.leaseTime = .zero }) { [representation] in representation.response(to: $0) }
        _ = try await machine.get(.file)
        #expect(store.count(.put, of: "lease") == 0)
    }
}
