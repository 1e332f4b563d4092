import FoundationEssentials
import Testing

@testable import MemoryCache

/// Capacity 100, preferred usage 60, unless a test says otherwise.
@Suite struct PurgeTests {
    private let time = TestTime()

    private func cache(_ capacity: Int = 100, _ preferred: Int = 60) throws -> TestCache<String> {
        TestCache(limits: try MemoryCacheLimits(capacity: capacity, preferredUsage: preferred), clock: time.clock)
    }

    /// A sequence of events, and the resulting entries, the next to be removed first.
    struct Case: Sendable, CustomTestStringConvertible {
        enum Step: Sendable {
            case insert(String, Int)
            case hit(String)
            case miss(String)
            case pin(String)
            case unpin(String)
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
        Case(
            name: "a pinned entry is not purged",
            steps: [.insert("a", 50), .pin("a"), .insert("b", 40), .insert("c", 20)], left: ["a"]),
        Case(
            name: "pinned entries above the preferred usage leave nothing else",
            steps: [.insert("a", 70), .pin("a"), .insert("b", 31)], left: ["a"]),
        Case(
            name: "an unpinned entry goes again, as the most recently used one",
            steps: [.insert("a", 50), .pin("a"), .insert("b", 40), .unpin("a"), .insert("c", 11)], left: ["c"]),
        Case(
            name: "a pinned key stays pinned under another value",
            steps: [.insert("a", 50), .pin("a"), .insert("a", 40), .insert("b", 40), .insert("c", 21)],
            left: ["a"]),
    ]

    @Test(arguments: cases)
    func `the purge's rule`(_ example: Case) throws {
        let cache = try cache()
        for step in example.steps {
            switch step {
            case .insert(let key, let cost): cache.insert(key, for: TestKey(key), cost: cost)
            case .hit(let key): #expect(cache.value(for: TestKey(key)) == key)
            case .miss(let key): #expect(cache.value(for: TestKey(key)) == nil)
            case .pin(let key): #expect(cache.pin(TestKey(key)))
            case .unpin(let key): #expect(cache.unpin(TestKey(key)))
            case .remove(let key): #expect(cache.remove(TestKey(key)) == key)
            }
        }
        #expect(cache.order == example.left)
        #expect(cache.statistics.entries == example.left.count)
    }

    @Test func `an insert says what became of the value`() throws {
        let cache = try cache()
        #expect(cache.insert("a", for: TestKey("a"), cost: 100) == .kept)
        #expect(cache.insert("b", for: TestKey("b"), cost: 101) == .tooLarge)
        #expect(cache.insert("c", for: TestKey("c"), cost: 61) == .purged)
        #expect(cache.insert("d", for: TestKey("d"), cost: -5) == .kept)
        #expect(cache.statistics.bytes == 0)
        #expect(cache.statistics.entries == 1)
    }

    @Test func `without limits given, the capacity is 100 MiB and the preferred usage 60 MiB`() {
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

    @Test func `a clock that steps back changes the dates, not the order`() throws {
        let cache = try cache()
        time.setDate(2000)
        cache.insert("a", for: TestKey("a"), cost: 30)
        time.setDate(1000)
        cache.insert("b", for: TestKey("b"), cost: 30)
        #expect(cache.snapshot.entries.map(\.lastAccessDate.timeIntervalSince1970) == [2000, 1000])
        cache.insert("c", for: TestKey("c"), cost: 41)
        #expect(cache.order == ["c"])
        time.setDate(500)
        _ = cache.value(for: TestKey("c"))
        #expect(cache.snapshot.entries.map(\.lastAccessDate.timeIntervalSince1970) == [500])
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

    @Test func `a lower capacity purges at once; one that the usage equals does not`() throws {
        let cache = try cache()
        for key in ["a", "b", "c"] { cache.insert(key, for: TestKey(key), cost: 20) }
        #expect(cache.setLimits(try MemoryCacheLimits(capacity: 60, preferredUsage: 10)).entries == 0)
        let purge = cache.setLimits(try MemoryCacheLimits(capacity: 59, preferredUsage: 20))
        #expect((purge.entries, purge.bytes) == (2, 40))
        #expect(cache.order == ["c"])
    }

    @Test func `no pin takes the usage above the capacity: then the oldest pinned entries go`() throws {
        let cache = try cache()
        for key in ["a", "b"] { cache.insert(key, for: TestKey(key), cost: 40, pinned: true) }
        #expect(cache.insert("c", for: TestKey("c"), cost: 30) == .purged)
        #expect(cache.insert("d", for: TestKey("d"), cost: 30, pinned: true) == .kept)
        #expect(cache.order == ["b", "d"])
        #expect(cache.statistics.pinnedBytes == 70)
        cache.setLimits(try MemoryCacheLimits(capacity: 30, preferredUsage: 0))
        #expect(cache.order == ["d"])
    }

    @Test func `a warning purges to the preferred usage, critical pressure empties, pinned entries too`() throws {
        let cache = try cache()
        cache.insert("pinned", for: TestKey("pinned"), cost: 10, pinned: true)
        for key in ["a", "b", "c"] { cache.insert(key, for: TestKey(key), cost: 25) }
        #expect(cache.respond(to: .warning) == MemoryCachePurge(entries: 1, bytes: 25))
        #expect(cache.order == ["pinned", "b", "c"])
        #expect(cache.respond(to: .warning) == MemoryCachePurge())
        #expect(cache.respond(to: .critical) == MemoryCachePurge(entries: 3, bytes: 60))
        #expect(cache.order == [])
        #expect(cache.statistics.pinnedEntries == 0)
        cache.insert("a", for: TestKey("a"), cost: 100)
        #expect(cache.order == ["a"])
    }
}
