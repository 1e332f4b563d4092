import TestSupport
import Testing

@testable import DiskStore

@Suite struct PagingTests {
    private func store(of count: Int) throws -> StoreUnderTest {
        let test = try StoreUnderTest()
        for number in 0..<count { try test.store.put("k\(number)", [1]) }
        return test
    }

    @Test func `all pages together list every entry, the newest first`() throws {
        let test = try store(of: 25)
        var found: [String] = []
        var next: Int64?
        repeat {
            let page = try test.store.page(after: next, limit: 10)
            #expect(page.entries.count <= 10)
            found += page.entries.map(\.key.value)
            next = page.next
        } while next != nil
        #expect(found == (0..<25).reversed().map { "k\($0)" })
    }

    @Test func `a page holds only matching entries, and looks through a limited number of rows`() throws {
        let test = try store(of: 30)
        let odd = try test.store.page(limit: 3) { $0.hasSuffix("5") }
        #expect(odd.entries.map(\.key.value) == ["k25", "k15", "k5"])
        // GIVEN a search that looks through four rows at a time, THEN an empty page is not the last one.
        var page = try test.store.page(limit: 3, scanning: 4) { $0.hasSuffix("/k0") }
        var pages = 1
        while page.entries.isEmpty, let next = page.next {
            page = try test.store.page(after: next, limit: 3, scanning: 4) { $0.hasSuffix("/k0") }
            pages += 1
        }
        #expect(page.entries.map(\.key.value) == ["k0"])
        #expect(pages == 8)
    }

    @Test func `an entry that goes away between two pages does not end them`() throws {
        let test = try store(of: 6)
        let first = try test.store.page(limit: 2)
        try test.store.remove(EntryKey("k4"))
        try test.store.remove(EntryKey("k3"))
        #expect(try test.store.page(after: first.next, limit: 9).entries.map(\.key.value) == ["k2", "k1", "k0"])
    }

    @Test func `matching entries are removed and counted, and their space is freed`() throws {
        let test = try store(of: 12)
        let before = try test.store.statistics()
        let removed = try test.store.remove(invalidating: .everything) { $0.contains("/k1") }
        #expect(removed == PruneResult(entries: 3, bytes: 3 * 4096))
        #expect(try test.store.statistics().bodyBytes == before.bodyBytes - removed.bytes)
        #expect(try test.store.page(limit: 99).entries.count == 9)
        #expect(try test.store.remove(invalidating: .everything) { $0.contains("/k1") } == .nothing)
    }
}

@Suite struct EvictionStatisticsTests {
    @Test func `eviction statistics tell how long the evicted entries had been unused`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        #expect(test.store.evictions == EvictionStatistics())
        // GIVEN a store that is full of what was last used two hours ago
        var stored = 0
        while try test.store.statistics().usedBytes < (8 << 20) - 250_000 {
            try test.store.put("k\(stored)", pattern(200_000))
            stored += 1
        }
        test.clock.advance(7200)
        // WHEN more comes
        for number in 0..<2 { try test.store.put("new\(number)", pattern(200_000)) }
        // THEN what it took the place of is counted, with its age.
        let evictions = test.store.evictions
        let gone = try stored + 2 - Int(test.store.statistics().entries)
        #expect(gone > 0)
        #expect(evictions.count == gone)
        #expect(evictions.bytes >= Int64(gone) * 200_000)
        #expect(evictions.medianAge == .seconds(7200))
        #expect(evictions.last == EvictionStatistics.Eviction(date: test.clock.now, age: .seconds(7200)))
        #expect(evictions.ages.filter { $0.count > 0 } == [.init(upTo: .seconds(4 * 3600), count: gone)])
    }

    @Test func `removing and pruning on purpose do not count as evictions`() throws {
        let test = try StoreUnderTest()
        for number in 0..<4 { try test.store.put("k\(number)", pattern(1000)) }
        try test.store.remove(EntryKey("k0"))
        _ = try test.store.prune(to: 0)
        #expect(test.store.evictions.count == 0)
    }

    @Test func `the median is that of the newest evictions, and a clock that was set back makes no age negative`() {
        var statistics = EvictionStatistics()
        for _ in 0..<300 { statistics.note(lastUse: 0, allocated: 1, now: 1000) }
        for _ in 0..<255 { statistics.note(lastUse: 0, allocated: 1, now: 5000) }
        #expect(statistics.medianAge == .seconds(5))
        statistics.note(lastUse: 9000, allocated: 1, now: 5000)
        #expect(statistics.last?.age == .zero)
        #expect(statistics.count == 556)
        #expect(statistics.ages.map(\.count).reduce(0, +) == 556)
    }

    @Test func `a closed store says that it cannot be written`() throws {
        let test = try StoreUnderTest()
        try test.store.checkWritable()
        test.store.close()
        #expect(throws: StoreError.self) { try test.store.checkWritable() }
    }
}
