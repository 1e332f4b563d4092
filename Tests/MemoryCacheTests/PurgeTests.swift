import FoundationEssentials
import Testing

@testable import MemoryCache

/// Capacity 100, preferred usage 60, unless a test sets others.
@Suite struct PurgeTests {
    private let clock = TestClock()

    private func cache(_ capacity: Int = 100, _ preferred: Int = 60) throws -> TestCache<String> {
        TestCache(limits: try MemoryCacheLimits(capacity: capacity, preferredUsage: preferred), now: clock.date)
    }

    /// A sequence of events, and the resulting entries, the next to be removed first.
    struct Case: Sendable, CustomTestStringConvertible {
        enum Step: Sendable {
            case insert(String, Int)
            case hit(String)
            case miss(String)
            case remove(String)
        }
        let name: String
        let steps: [Step]
        let left: [String]
        var testDescription: String { name }
    }

    static let cases = [
        Case(
            name: "equal to the capacity is not above it",
            steps: [.insert("a", 50), .insert("b", 50)], left: ["a", "b"]),
        Case(
            name: "one byte above the capacity purges to the preferred usage",
            steps: [.insert("a", 50), .insert("b", 10), .insert("c", 41)], left: ["b", "c"]),
        Case(
            name: "a purge stops at the preferred usage exactly",
            steps: [.insert("a", 41), .insert("b", 30), .insert("c", 30)], left: ["b", "c"]),
        Case(
            name: "a purge that is one byte short of the preferred usage takes one more",
            steps: [.insert("a", 40), .insert("b", 31), .insert("c", 30)], left: ["c"]),
        Case(
            name: "a hit makes an entry the last to go",
            steps: [.insert("a", 29), .insert("b", 41), .hit("a"), .insert("c", 31)], left: ["a", "c"]),
        Case(
            name: "the oldest goes first, whatever its size",
            steps: [.insert("big", 60), .insert("small", 1), .hit("big"), .insert("new", 40)], left: ["new"]),
        Case(
            name: "a miss changes nothing",
            steps: [.insert("a", 30), .insert("b", 30), .miss("x"), .insert("c", 41)], left: ["c"]),
        Case(
            name: "the inserted entry is the last to go, but goes too when it is above the preferred usage alone",
            steps: [.insert("a", 30), .insert("b", 80)], left: []),
        Case(
            name: "alone and up to the capacity, an entry above the preferred usage stays",
            steps: [.insert("a", 100)], left: ["a"]),
        Case(
            name: "above the capacity is not kept, and purges nothing",
            steps: [.insert("a", 100), .insert("b", 101)], left: ["a"]),
        Case(
            name: "above the capacity takes away what the key had",
            steps: [.insert("a", 10), .insert("b", 10), .insert("a", 101)], left: ["b"]),
        Case(
            name: "another value under a key takes the place and the cost of the first",
            steps: [.insert("a", 90), .insert("a", 20), .insert("b", 80)], left: ["a", "b"]),
        Case(
            name: "a value that costs nothing goes only when its turn comes",
            steps: [.insert("z", 0), .insert("a", 100), .insert("b", 1)], left: ["b"]),
        Case(
            name: "a removed entry gives its bytes back",
            steps: [.insert("a", 90), .remove("a"), .insert("b", 100)], left: ["b"]),
    ]

    @Test(arguments: cases)
    func `a purge removes the entries with the oldest access until the preferred usage`(_ example: Case) throws {
        let cache = try cache()
        for step in example.steps {
            switch step {
            case .insert(let key, let cost): cache.insert(key, for: TestKey(key), cost: cost)
            case .hit(let key): #expect(cache.value(for: TestKey(key)) == key)
            case .miss(let key): #expect(cache.value(for: TestKey(key)) == nil)
            case .remove(let key): #expect(cache.remove(TestKey(key)) == key)
            }
        }
        #expect(cache.order == example.left)
        #expect(cache.statistics.entries == example.left.count)
    }

    @Test func `an insert returns true if the cache keeps the value`() throws {
        let cache = try cache()
        #expect(cache.insert("a", for: TestKey("a"), cost: 100))
        #expect(!cache.insert("b", for: TestKey("b"), cost: 101))
        #expect(!cache.insert("c", for: TestKey("c"), cost: 61))
        #expect(cache.insert("d", for: TestKey("d"), cost: -5))
        #expect(cache.statistics.bytes == 0)
        #expect(cache.statistics.entries == 1)
    }

    @Test func `costs and capacities may be the greatest numbers`() throws {
        let cache = try cache(.max, .max)
        for key in ["a", "b", "c"] { #expect(cache.insert(key, for: TestKey(key), cost: .max)) }
        #expect(cache.order == ["c"])
        #expect(cache.statistics.bytes == .max)
        #expect(cache.statistics.counts.purgedEntries == 2 && cache.statistics.counts.purgedBytes == .max)
        cache.insert("c", for: TestKey("c"), cost: .max - 1)
        cache.insert("d", for: TestKey("d"), cost: 1)
        #expect(cache.order == ["c", "d"])
        cache.insert("e", for: TestKey("e"), cost: 1)
        #expect(cache.order == ["d", "e"])
        #expect(cache.statistics.bytes == 2)
    }

    @Test func `the default capacity is 100 MiB and the default preferred usage 60 MiB`() {
        let cache = TestCache<Int>()
        #expect(cache.limits.capacity == 104_857_600)
        #expect(cache.limits.preferredUsage == 62_914_560)
    }

    @Test func `accesses within one tick of the clock keep their order`() throws {
        let cache = try cache()
        for key in ["a", "b", "c"] { cache.insert(key, for: TestKey(key), cost: 30) }
        _ = cache.value(for: TestKey("a"))
        #expect(cache.order == ["b", "c", "a"])
        cache.insert("d", for: TestKey("d"), cost: 11)
        #expect(cache.order == ["a", "d"])
    }

    @Test func `a clock that steps back changes neither the order nor the dates of earlier accesses`() throws {
        let cache = try cache()
        clock.set(1000)
        cache.insert("a", for: TestKey("a"), cost: 30)
        clock.set(2000)
        cache.insert("b", for: TestKey("b"), cost: 30)
        clock.set(1500)
        _ = cache.value(for: TestKey("a"))
        #expect(cache.order == ["b", "a"])
        #expect(cache.snapshot.entries.map(\.lastAccessDate.timeIntervalSince1970) == [2000, 2000])
        clock.set(3000)
        _ = cache.value(for: TestKey("a"))
        #expect(cache.snapshot.entries.map(\.lastAccessDate.timeIntervalSince1970) == [2000, 3000])
        cache.insert("c", for: TestKey("c"), cost: 41)
        #expect(cache.order == ["c"])
    }

    @Test func `a capacity below the preferred usage is an error when it is set`() {
        #expect(throws: MemoryCacheLimitError.capacityBelowPreferredUsage(capacity: 59, preferredUsage: 60)) {
            try MemoryCacheLimits(capacity: 59, preferredUsage: 60)
        }
        #expect(throws: MemoryCacheLimitError.negative(-1)) { try MemoryCacheLimits(capacity: -1) }
        #expect(throws: MemoryCacheLimitError.negative(-2)) {
            try MemoryCacheLimits(capacity: 1, preferredUsage: -2)
        }
        #expect(throws: Never.self) { try MemoryCacheLimits(capacity: 60, preferredUsage: 60) }
        #expect((try? MemoryCacheLimits(capacity: .max))?.preferredUsage == .max / 10 * 6 + 4)
    }

    @Test func `a lower capacity purges at once, unless the usage fits`() throws {
        let cache = try cache()
        for key in ["a", "b", "c"] { cache.insert(key, for: TestKey(key), cost: 20) }
        cache.setLimits(try MemoryCacheLimits(capacity: 60, preferredUsage: 10))
        #expect(cache.order == ["a", "b", "c"])
        cache.setLimits(try MemoryCacheLimits(capacity: 59, preferredUsage: 20))
        #expect(cache.order == ["c"])
    }

    @Test func `a warning purges to the preferred usage, and critical pressure removes everything`() throws {
        let cache = try cache()
        cache.insert("free", for: TestKey("free"), cost: 0)
        for key in ["a", "b", "c"] { cache.insert(key, for: TestKey(key), cost: 25) }
        cache.respond(to: .warning)
        #expect(cache.order == ["b", "c"])
        #expect(cache.statistics.counts.purgedEntries == 2)
        #expect(cache.statistics.counts.purgedBytes == 25)
        cache.respond(to: .warning)
        #expect(cache.statistics.counts.purges == 1)
        cache.insert("free", for: TestKey("free"), cost: 0)
        cache.respond(to: .critical)
        #expect(cache.order == [])
        #expect(cache.statistics.counts.purgedEntries == 5)
        #expect(cache.statistics.counts.purgedBytes == 75)
        cache.insert("a", for: TestKey("a"), cost: 100)
        #expect(cache.order == ["a"])
    }
}
