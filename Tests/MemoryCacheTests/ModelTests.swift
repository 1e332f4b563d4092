import Synchronization
import TestSupport
import Testing

@testable import MemoryCache

@Suite struct ModelTests {
    @Test func `100,000 random operations do what the plainest implementation does`() throws {
        var random = SeededGenerator(for: "memory cache model")
        let time = TestTime()
        let cache = TestCache<Int>(
            limits: try MemoryCacheLimits(capacity: 1000, preferredUsage: 600), clock: time.clock)
        var model = NaiveCache(capacity: 1000, preferredUsage: 600)

        for operation in 0..<100_000 {
            let key = TestKey("\(Int.random(in: 0..<30, using: &random))", Int.random(in: 0..<5, using: &random))
            let what = Int.random(in: 0..<1000, using: &random)
            switch what {
            case 0..<450:
                #expect(cache.value(for: key) == model.value(for: key), "\(operation)")
            case 450..<850:
                let cost =
                    what % 50 == 0
                    ? Int.random(in: 0...1200, using: &random) : Int.random(in: 0...60, using: &random)
                let timeLimit: Duration? = what % 7 == 0 ? .seconds(Int.random(in: 0...40, using: &random)) : nil
                let pinned = what % 31 == 0
                cache.insert(operation, for: key, cost: cost, timeLimit: timeLimit, pinned: pinned)
                model.insert(operation, key, cost: cost, timeLimit: timeLimit, pinned: pinned)
            case 850..<890:
                #expect(cache.remove(key) == model.remove(key), "\(operation)")
            case 890..<910:
                #expect(
                    cache.removeVariants(of: key.original) == model.removeVariants(of: key.original), "\(operation)")
            case 910..<930:
                #expect(cache.pin(key) == model.setPinned(true, key), "\(operation)")
            case 930..<960:
                #expect(cache.unpin(key) == model.setPinned(false, key), "\(operation)")
            case 960..<980:
                time.advance(.seconds(1))
                time.setDate(Double.random(in: 0...1e9, using: &random))
                model.now += .seconds(1)
            case 980..<990:
                let capacity = Int.random(in: 0...2000, using: &random)
                let preferred = Int.random(in: 0...capacity, using: &random)
                cache.setLimits(try MemoryCacheLimits(capacity: capacity, preferredUsage: preferred))
                model.setLimits(capacity: capacity, preferredUsage: preferred)
            case 990..<997:
                cache.respond(to: .warning)
                model.respond(to: .warning)
            case 997:
                cache.respond(to: .critical)
                model.respond(to: .critical)
            case 998:
                cache.removeAll()
                model.removeAll()
            default:
                let limits = try MemoryCacheLimits(capacity: 1000, preferredUsage: 600)
                cache.setLimits(limits)
                model.setLimits(capacity: 1000, preferredUsage: 600)
            }

            if operation % 16 == 0 || operation > 99_000 {
                let snapshot = cache.snapshot
                let entries = snapshot.entries.map { "\($0.key) \($0.cost) \($0.isPinned)" }
                try #require(entries == model.items.map { "\($0.key) \($0.cost) \($0.isPinned)" }, "\(operation)")
                try #require(snapshot.statistics.bytes == model.bytes, "\(operation)")
                let pinned = model.items.filter(\.isPinned)
                #expect(snapshot.statistics.pinnedEntries == pinned.count)
                #expect(snapshot.statistics.pinnedBytes == pinned.reduce(0) { $0 + $1.cost })
                #expect(cache.usage.load(ordering: .relaxed) == model.bytes)
            }
        }
    }
}
