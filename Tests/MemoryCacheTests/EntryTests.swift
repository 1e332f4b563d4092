import Testing

@testable import MemoryCache

@Suite struct EntryTests {
    @Test func `removal by original removes its variants and nothing else`() {
        let cache = TestCache<String>()
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

    @Test func `removing any variant first keeps the others removable by their original`() {
        for first in 0..<40 {
            let cache = TestCache<Int>()
            for variant in 0..<40 { cache.insert(variant, for: TestKey("o", variant), cost: 1) }
            #expect(cache.remove(TestKey("o", first)) == first)
            #expect(cache.removeVariants(of: "o") == 39)
            #expect(cache.statistics.entries == 0)
        }
    }

    @Test func `statistics count all operations`() throws {
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

    @Test func `values are released however they leave the cache`() throws {
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
