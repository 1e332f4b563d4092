import Testing

@testable import MemoryCache

@Suite struct EntryTests {
    private let time = TestTime()

    @Test func `removal by original removes its variants and nothing else`() {
        let cache = TestCache<String>(clock: time.clock)
        let originals = ["http://h/1", "http://h/10", "http://h/1?x", "http://h/"]
        for original in originals {
            for variant in 0..<50 {
                cache.insert(original, for: TestKey(original, variant), cost: 10)
            }
        }
        #expect(cache.removeVariants(of: "http://h/1") == 50)
        #expect(cache.removeVariants(of: "http://h/1") == 0)
        #expect(cache.removeVariants(of: "http://h") == 0)
        for variant in 0..<50 {
            #expect(cache.value(for: TestKey("http://h/1", variant)) == nil)
            for original in originals.dropFirst() {
                #expect(cache.value(for: TestKey(original, variant)) == original)
            }
        }
        #expect(cache.statistics.bytes == 1500)
    }

    @Test func `whatever variant is removed first, the others are still found by their original`() {
        for first in 0..<40 {
            let cache = TestCache<Int>(clock: time.clock)
            for variant in 0..<40 { cache.insert(variant, for: TestKey("o", variant), cost: 1) }
            #expect(cache.remove(TestKey("o", first)) == first)
            #expect(cache.removeVariants(of: "o") == 39)
            #expect(cache.statistics.entries == 0)
        }
    }

    @Test func `an entry is found until its time limit, not at it; what a clock of dates does is of no account`() {
        let cache = TestCache<String>(clock: time.clock)
        cache.insert("a", for: TestKey("a"), cost: 10, timeLimit: .seconds(10))
        cache.insert("b", for: TestKey("b"), cost: 10)
        time.setDate(9_000_000_000)
        time.advance(.milliseconds(9_999))
        #expect(cache.value(for: TestKey("a")) == "a")
        #expect(cache.snapshot.entries.map(\.timeLeft) == [nil, .milliseconds(1)])
        time.advance(.milliseconds(1))
        #expect(cache.value(for: TestKey("a")) == nil)
        #expect(cache.value(for: TestKey("b")) == "b")
        #expect(cache.statistics.bytes == 10)
        #expect(cache.statistics.counts.expired == 1)
    }

    @Test func `a time limit of zero is never found, one of centuries always`() {
        let cache = TestCache<String>(clock: time.clock)
        cache.insert("a", for: TestKey("a"), cost: 1, timeLimit: .zero)
        cache.insert("b", for: TestKey("b"), cost: 1, timeLimit: .seconds(Int64.max / 2))
        #expect(cache.value(for: TestKey("a")) == nil)
        #expect(cache.value(for: TestKey("b")) == "b")
    }

    @Test func `a pin does not lengthen a time limit, and a pinned key can be removed`() {
        let cache = TestCache<String>(clock: time.clock)
        cache.insert("a", for: TestKey("a"), cost: 10, timeLimit: .seconds(1), pinned: true)
        cache.insert("b", for: TestKey("b"), cost: 10, pinned: true)
        time.advance(.seconds(1))
        #expect(cache.value(for: TestKey("a")) == nil)
        #expect(cache.remove(TestKey("b")) == "b")
        #expect(cache.statistics.pinnedBytes == 0)
        #expect(!cache.pin(TestKey("b")))
        #expect(!cache.unpin(TestKey("b")))
    }

    @Test func `everything is counted`() throws {
        let cache = TestCache<String>(limits: try MemoryCacheLimits(capacity: 100, preferredUsage: 60))
        cache.insert("a", for: TestKey("a"), cost: 50)
        cache.insert("a", for: TestKey("a"), cost: 60)
        _ = cache.value(for: TestKey("a"))
        _ = cache.value(for: TestKey("a"))
        _ = cache.value(for: TestKey("x"))
        cache.insert("b", for: TestKey("b"), cost: 41)
        cache.insert("c", for: TestKey("c"), cost: 101)
        cache.remove(TestKey("b"))
        cache.insert("d", for: TestKey("d"), cost: 1)
        cache.removeAll()
        var counts = MemoryCacheCounts()
        counts.hits = 2
        counts.misses = 1
        counts.inserts = 4
        counts.tooLarge = 1
        counts.purges = 1
        counts.purgedEntries = 1
        counts.purgedBytes = 60
        counts.removed = 2
        #expect(cache.statistics.counts == counts)
        #expect(cache.statistics.bytes == 0)
        #expect(cache.statistics.entries == 0)
    }

    @Test func `values are released when they leave, whichever way that is`() throws {
        let cache = TestCache<Picture>(limits: try MemoryCacheLimits(capacity: 100, preferredUsage: 60))
        let ways: [(String, () -> Void)] = [
            ("remove", { cache.remove(TestKey("x")) }),
            ("removeVariants", { cache.removeVariants(of: "x") }),
            ("removeAll", { cache.removeAll() }),
            ("replace", { cache.insert(Picture("y"), for: TestKey("x"), cost: 1) }),
            ("purge", { cache.insert(Picture("y"), for: TestKey("y"), cost: 100) }),
            ("critical", { cache.respond(to: .critical) }),
        ]
        for (name, leave) in ways {
            weak var picture: Picture?
            do {
                let inserted = Picture("x")
                picture = inserted
                cache.insert(inserted, for: TestKey("x"), cost: 10)
            }
            #expect(picture != nil, "\(name)")
            leave()
            #expect(picture == nil, "\(name)")
        }
    }
}
