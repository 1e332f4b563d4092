import Foundation
import TestSupport
import Testing

@testable import DiskStore

@Suite("Pins in the store") struct PinTests {
    private let test: StoreUnderTest

    init() throws { test = try StoreUnderTest(capacity: 8 << 20) }

    private var store: DiskStore { test.store }

    private func pin(_ keys: [String], as name: String) throws -> PinSetState {
        try store.savePinSet(
            NewPinSet(owner: "", name: name),
            members: keys.map { NewPin(key: EntryKey($0), url: "http://test/\($0)", request: []) })
    }

    /// Fills the store several times over with unpinned entries.
    private func fill() throws {
        for number in 0..<40 { try store.put("other \(number)", pattern(400_000)) }
    }

    @Test func `a pinned entry is not evicted, whether it was stored before or after the pin`() throws {
        try store.put("before", pattern(100_000))
        let set = try pin(["before", "after"], as: "trip")
        #expect(set.total == 2 && set.present == 1)
        try store.put("after", pattern(120_000))
        try fill()
        #expect(try store.has("before") && store.has("after") && !store.has("other 0"))
        let counted = try #require(try store.pinSet(owner: "", name: "trip"))
        #expect(counted.present == 2 && counted.bytes == 220_000)
        #expect(try store.pinnedBytes() == counted.allocated)
        try store.removePinSet(counted)
        #expect(try store.pinnedBytes() == 0)
        try fill()
        #expect(try !store.has("before") && !store.has("after"))
    }

    @Test func `a pin passes to the body that replaces another, and the old body is deleted`() throws {
        _ = try pin(["a"], as: "one")
        try store.put("a", pattern(100_000))
        try store.put("a", pattern(50_000, seed: 2))
        try fill()
        #expect(try store.read("a") == pattern(50_000, seed: 2))
        #expect(try store.statistics().doomedBytes == 0)
        #expect(try store.pinnedBytes() == store.entries(for: EntryKey("a"))[0].allocated)
    }

    @Test func `a file that two sets pin stays until both are removed`() throws {
        try store.put("a", pattern(100_000))
        let one = try pin(["a"], as: "one")
        let other = try pin(["a"], as: "other")
        try store.removePinSet(one)
        try fill()
        #expect(try store.has("a"))
        try store.removePinSet(other)
        try fill()
        #expect(try !store.has("a"))
    }

    @Test func `prune and clear can spare pinned entries`() throws {
        _ = try pin(["a"], as: "one")
        try store.put("a", pattern(100_000))
        try store.put("b", pattern(100_000))
        _ = try store.prune(to: 0)
        #expect(try store.has("a") && !store.has("b"))
        try store.put("b", pattern(100_000))
        try store.clear(sparingPins: true)
        #expect(try store.has("a") && !store.has("b"))
        _ = try store.prune(to: 0, sparingPins: false)
        #expect(try !store.has("a"))
        #expect(try store.pinnedBytes() == 0)
    }

    @Test func `a body without room next to the pins is refused, and evicts nothing`() throws {
        _ = try pin((0..<14).map { "pinned \($0)" }, as: "one")
        for number in 0..<14 { try store.put("pinned \(number)", pattern(400_000)) }
        try store.put("small", pattern(10_000))
        let error = #expect(throws: StoreError.self) { try store.put("large", pattern(3_000_000)) }
        #expect(error?.code == .held)
        #expect(try store.has("small") && store.has("pinned 0"))
        #expect(test.allocated <= 8 << 20)
    }

    @Test func `members that a set no longer names are unpinned, and the others stay pinned`() throws {
        for name in ["a", "b", "c"] { try store.put(name, pattern(50_000)) }
        _ = try pin(["a", "b"], as: "one")
        let set = try pin(["b", "c"], as: "one")
        #expect(set.total == 2 && set.present == 2)
        try fill()
        #expect(try !store.has("a") && store.has("b") && store.has("c"))
    }

    // MARK: Removing large sets

    private var batch: Int { get throws { try store.withIndex { (index) throws(StoreError) in Int(index.listBatch) } } }

    private func held(in store: DiskStore) throws -> Int64 {
        try store.withIndex { (index) throws(StoreError) in try index.readTotals().held }
    }

    @Test(arguments: [false, true]) func `a large set is removed in short transactions`(byOwner: Bool) throws {
        let keys = (0..<100).map { "member \($0)" }
        for key in keys { try store.put(key, pattern(10)) }
        let set = try pin(keys, as: "large")
        let seen = try store.transactions {
            if byOwner { try store.removePinSets(owner: "") } else { try store.removePinSet(set) }
        }
        #expect(try seen.mostInCall == 1 && seen.count == keys.count / batch + 1)
        #expect(try store.pinSets().isEmpty && store.pinnedBytes() == 0 && held(in: store) == 0)
    }

    @Test(arguments: 0...5) func `a removal that is interrupted goes on when it is repeated`(_ limit: Int) throws {
        let keys = try (0..<5 * batch).map { "member \($0)" }
        for key in keys { try store.put(key, pattern(10)) }
        let set = try pin(keys, as: "large")
        #expect(throws: StoreError.self) { try store.transactions(limit: limit) { try store.removePinSet(set) } }
        let again = try test.again()
        let rest = try #require(try again.pinSet(owner: "", name: "large"))
        #expect(try rest.total == Int64(keys.count - limit * batch))
        // The members hold their files, and no others are held.
        #expect(try again.pinnedBytes() == rest.allocated && held(in: again) == rest.allocated)
        try again.removePinSet(rest)
        #expect(try again.pinSets().isEmpty && again.pinnedBytes() == 0 && held(in: again) == 0)
    }

    // MARK: The order of use

    private func plan(_ sql: String) throws -> [String] {
        try store.withIndex { (index) throws(StoreError) in
            let plan = try index.catalogue().connection.prepare("EXPLAIN QUERY PLAN " + sql)
            defer { plan.finalize() }
            var steps: [String] = []
            while try plan.step() { steps.append(plan.text(3)) }
            return steps
        }
    }

    @Test func `an eviction reads only entries that are not pinned, however many pins are older`() throws {
        let steps = try plan(Query.longestUnused.text)
        #expect(
            steps.first == "SEARCH a USING COVERING INDEX access_by_sequence (pinned=?)"
                || steps.first == "SEARCH a USING INDEX access_by_sequence (pinned=?)", "\(steps)")
        #expect(!steps.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN") }, "\(steps)")
        for number in 0..<50 { try store.put("pinned \(number)", pattern(4000)) }
        _ = try pin((0..<50).map { "pinned \($0)" }, as: "old")
        try store.put("other", pattern(4000))
        let oldest = try store.withIndex { (index) throws(StoreError) in
            try index.flush()
            return try index.catalogue().entries.longestUnused(limit: 10).map(\.id)
        }
        #expect(try oldest == store.entries(for: EntryKey("other")).map(\.id))
    }

    @Test func `pins keep their place in the order of use`() throws {
        for name in ["a", "b", "c", "d"] { try store.put(name, pattern(4000)) }
        let set = try pin(["b", "d"], as: "one")
        let ids = try ["a", "b", "c", "d"].map { try store.entries(for: EntryKey($0))[0].id }
        func order(descending: Bool = false) throws -> [Int64] {
            try store.withIndex { (index) throws(StoreError) in
                try index.flush()
                return try index.catalogue().entries.identifiers(by: .age, descending: descending)
            }
        }
        #expect(try order() == ids)
        #expect(try order(descending: true) == ids.reversed())
        try store.removePinSet(set)
        #expect(try order() == ids)
        let evicted = try store.withIndex { (index) throws(StoreError) in
            try index.catalogue().entries.longestUnused(limit: 2)
        }
        #expect(evicted.map(\.id) == Array(ids.prefix(2)))
    }

    @Test func `a pinned entry is not evicted when it expires`() throws {
        var entry = NewEntry(key: EntryKey("a"), variant: "", url: "http://test/a", metadata: [])
        entry.expires = Date(timeIntervalSince1970: 0)
        _ = try store.writeWhole("a", pattern(4000)).commit(entry)
        func expired() throws -> Int {
            try store.withIndex { (index) throws(StoreError) in
                try index.catalogue().entries.expired(at: index.now, limit: 10).count
            }
        }
        #expect(try expired() == 1)
        _ = try pin(["a"], as: "one")
        #expect(try expired() == 0)
    }

    // MARK: Sets that do not fit

    private func pin(_ keys: [String], sizes: Int64?, as name: String) throws -> PinSetState {
        try store.savePinSet(
            NewPinSet(owner: "", name: name),
            members: keys.map { NewPin(key: EntryKey($0), url: "http://test/\($0)", request: [], size: sizes) })
    }

    @Test func `a set whose sizes do not fit is refused with the figures, and changes nothing`() throws {
        for number in 0..<4 { try store.put("stored \(number)", pattern(1 << 20)) }
        _ = try pin((0..<4).map { "stored \($0)" }, as: "one")
        let before = try store.pinnedBytes()
        let error = #expect(throws: StoreError.self) { try pin(["a", "b"], sizes: 3 << 20, as: "other") }
        #expect(error?.code == .held)
        #expect(
            error?.message.hasPrefix(
                "the set other does not fit, and is not pinned: it takes 6.00 MiB, other pins take 4.00 MiB, and of the capacity of "
                    + "8.00 MiB files can take ") == true, "\(error?.message ?? "")")
        #expect(try store.pinSets().map(\.name) == ["one"] && store.pinnedBytes() == before)
        // A set that is there keeps what it had.
        #expect(throws: StoreError.self) { try pin(["stored 0", "a", "b"], sizes: 4 << 20, as: "one") }
        #expect(try store.pinSet(owner: "", name: "one")?.total == 4)
        #expect(try pin(["a", "b"], sizes: 1 << 20, as: "other").total == 2)
    }

    @Test func `stored and shared members of a set count once`() throws {
        for number in 0..<6 { try store.put("stored \(number)", pattern(1 << 20)) }
        let keys = (0..<6).map { "stored \($0)" }
        #expect(try pin(keys, sizes: 1 << 20, as: "one").present == 6)
        #expect(try pin(keys + ["stored 0"], sizes: 1 << 20, as: "same").total == 6)
        #expect(throws: StoreError.self) { try pin(["new"], sizes: 2 << 20, as: "more") }
    }
}
