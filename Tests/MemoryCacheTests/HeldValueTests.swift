import ConcurrencyPrimitives
import Testing

@testable import MemoryCache

/// A value that is a structure around an object.
private struct Framed: Sendable {
    let picture: Picture
}

@Suite struct HeldValueTests {
    private let cache: TestCache<Picture>

    init() throws {
        cache = TestCache(limits: try MemoryCacheLimits(capacity: 100, preferredUsage: 60), weakValues: .objects)
    }

    @Test
    func `a purged image that a caller holds is found again as the same object, with its cost`() {
        let held = Picture("held")
        cache.insert(held, for: TestKey("held"), cost: 30)
        cache.insert(Picture("gone"), for: TestKey("gone"), cost: 30)
        cache.respond(to: .critical)
        #expect(cache.statistics.bytes == 0)
        #expect(cache.value(for: TestKey("gone")) == nil)
        #expect(cache.value(for: TestKey("held")) === held)
        #expect(cache.statistics.bytes == 30)
        #expect(cache.statistics.counts.heldHits == 1)
        #expect(cache.value(for: TestKey("held")) === held)
        #expect(cache.statistics.counts.heldHits == 1)
    }

    @Test func `a purged image is gone after its caller releases it`() {
        weak var picture: Picture?
        do {
            let held = Picture("a")
            picture = held
            cache.insert(held, for: TestKey("a"), cost: 30)
            cache.respond(to: .critical)
            #expect(cache.value(for: TestKey("a")) === held)
            cache.respond(to: .critical)
        }
        #expect(picture == nil)
        #expect(cache.value(for: TestKey("a")) == nil)
        #expect(cache.statistics.bytes == 0)
    }

    @Test func `a value that was removed or replaced is not found again, even if a caller holds it`() {
        let held = (0..<4).map { Picture("\($0)") }
        for (number, picture) in held.enumerated() { cache.insert(picture, for: TestKey("o\(number)"), cost: 10) }
        cache.respond(to: .critical)
        #expect(cache.remove(TestKey("o0")) == nil)
        #expect(cache.value(for: TestKey("o0")) == nil)
        #expect(cache.removeVariants(of: "o1") == 0)
        #expect(cache.value(for: TestKey("o1")) == nil)
        let other = Picture("other")
        cache.insert(other, for: TestKey("o2"), cost: 10)
        #expect(cache.value(for: TestKey("o2")) === other)
        cache.removeAll()
        #expect(cache.value(for: TestKey("o3")) == nil)
    }

    @Test func `an image too large to keep is found while a caller holds it, and purges nothing`() {
        do {
            let large = Picture("large")
            #expect(cache.insert(large, for: TestKey("large"), cost: 101) == false)
            cache.insert(Picture("small"), for: TestKey("small"), cost: 10)
            #expect(cache.value(for: TestKey("large")) === large)
            #expect(cache.order == ["small"])
        }
        #expect(cache.value(for: TestKey("large")) == nil)
    }

    @Test func `values around an object are found by that object`() throws {
        let cache = TestCache<Framed>(
            weakValues: WeakValues(object: { $0.picture }, value: { ($0 as? Picture).map(Framed.init) }))
        let picture = Picture("a")
        cache.insert(Framed(picture: picture), for: TestKey("a"), cost: 10)
        cache.insert(Framed(picture: Picture("b")), for: TestKey("b"), cost: 10)
        cache.respond(to: .critical)
        #expect(cache.value(for: TestKey("a"))?.picture === picture)
        #expect(cache.value(for: TestKey("b")) == nil)
    }

    @Test func `references to released images do not accumulate`() {
        var held: [Picture] = []
        for number in 0..<10_000 {
            if number % 100 == 0 { held = [] }
            held.append(Picture("\(number)"))
            cache.insert(held[held.count - 1], for: TestKey("\(number)"), cost: 50)
        }
        #expect(cache.entries.withLock { $0.held.references.count } < 600)
    }
}
