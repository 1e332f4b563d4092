import TestSupport
import Testing

@testable import MemoryCache

@Suite struct ModelTests {
    @Test func `100,000 random operations have the results of a simple model`() throws {
        var random = SeededGenerator(for: "memory cache model")
        let clock = TestClock()
        let cache = TestCache<Int>(
            limits: try MemoryCacheLimits(capacity: 1000, preferredUsage: 600), now: clock.date)
        var model = NaiveCache(capacity: 1000, preferredUsage: 600)

        for operation in 0..<100_000 {
            let key = TestKey("\(Int.random(in: 0..<30, using: &random))", Int.random(in: 0..<5, using: &random))
            switch Int.random(in: 0..<1000, using: &random) {
            case 0..<480:
                #expect(cache.value(for: key) == model.value(for: key), "\(operation)")
            case 480..<890:
                let most = Int.random(in: 0..<20, using: &random) == 0 ? 1200 : 60
                let cost = Int.random(in: 0...most, using: &random)
                #expect(
                    cache.insert(operation, for: key, cost: cost) == model.insert(operation, key, cost: cost),
                    "\(operation)")
            case 890..<930:
                #expect(cache.remove(key) == model.remove(key), "\(operation)")
            case 930..<950:
                #expect(
                    cache.removeVariants(of: key.original) == model.removeVariants(of: key.original), "\(operation)")
            case 950..<970:
                clock.set(Double.random(in: 0...1e9, using: &random))
            case 970..<985:
                let capacity = Int.random(in: 0...2000, using: &random)
                let preferred = Int.random(in: 0...capacity, using: &random)
                cache.setLimits(try MemoryCacheLimits(capacity: capacity, preferredUsage: preferred))
                model.setLimits(capacity: capacity, preferredUsage: preferred)
            case 985..<996:
                cache.respond(to: .warning)
                model.respond(to: .warning)
            case 996..<998:
                cache.respond(to: .critical)
                model.respond(to: .critical)
            default:
                cache.removeAll()
                model.removeAll()
            }

            if operation % 16 == 0 || operation > 99_000 {
                let snapshot = cache.snapshot
                let entries = snapshot.entries.map { "\($0.key) \($0.cost)" }
                try #require(entries == model.items.map { "\($0.key) \($0.cost)" }, "\(operation)")
                try #require(snapshot.statistics.bytes == model.bytes, "\(operation)")
                try #require(snapshot.statistics.entries == model.items.count, "\(operation)")
                let dates = snapshot.entries.map(\.lastAccessDate)
                try #require(dates == dates.sorted(), "\(operation)")
            }
        }
    }
}
