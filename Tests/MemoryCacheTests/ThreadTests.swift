import Glibc
import TestSupport
import Testing

@testable import MemoryCache

@Suite struct ThreadTests {
    @Test func `eight threads that do everything at once leave a cache whose sums are right`() async throws {
        let seed = SeededGenerator(for: "memory cache threads").seed
        let cache = TestCache<Picture>(
            limits: try MemoryCacheLimits(capacity: 4000, preferredUsage: 2000), weakValues: .objects)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    await onThread { Self.work(cache, SeededGenerator(seed: seed &+ UInt64(thread))) }
                }
            }
        }
        let snapshot = cache.snapshot
        let statistics = snapshot.statistics
        #expect(statistics.bytes == snapshot.entries.reduce(0) { $0 + $1.cost })
        #expect(statistics.entries == snapshot.entries.count)
        #expect(statistics.bytes <= 4000)
        #expect(statistics.counts.hits + statistics.counts.misses == 8 * 5000)
        let originals = Set(snapshot.entries.map(\.key.original))
        #expect(originals.reduce(0) { $0 + cache.removeVariants(of: $1) } == statistics.entries)
        #expect(cache.statistics.bytes == 0)
    }

    private static func work(_ cache: TestCache<Picture>, _ generator: SeededGenerator) {
        var random = generator
        var held: [Picture] = []
        for _ in 0..<5000 {
            let key = TestKey("\(Int.random(in: 0..<40, using: &random))", Int.random(in: 0..<4, using: &random))
            if let picture = cache.value(for: key) {
                #expect(picture.name == key.description)
                held.append(picture)
                if held.count > 8 { held.removeFirst() }
            } else {
                cache.insert(Picture(key.description), for: key, cost: Int.random(in: 0...200, using: &random))
            }
            switch Int.random(in: 0..<200, using: &random) {
            case 0..<10: cache.remove(key)
            case 10..<15: cache.removeVariants(of: key.original)
            case 20: cache.respond(to: .warning)
            case 21: cache.respond(to: .critical)
            case 22: cache.removeAll()
            case 23: _ = cache.snapshot
            default: break
            }
        }
    }
}

/// Runs `body` on its own thread, because the cooperative pool has no more threads than the machine has cores.
private func onThread(_ body: @escaping @Sendable () -> Void) async {
    final class Work: Sendable {
        let body: @Sendable () -> Void
        let continuation: CheckedContinuation<Void, Never>

        init(_ body: @escaping @Sendable () -> Void, _ continuation: CheckedContinuation<Void, Never>) {
            (self.body, self.continuation) = (body, continuation)
        }
    }
    await withCheckedContinuation { continuation in
        let work = Unmanaged.passRetained(Work(body, continuation))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                work.body()
                work.continuation.resume()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.takeRetainedValue().continuation.resume()
            Issue.record("no thread: \(code)")
            return
        }
        pthread_detach(thread)
    }
}
