import Foundation
import TestSupport
import Testing

@testable import DiskStore

@Suite struct VariantTests {
    private func put(_ store: DiskStore, _ variant: String, limit: Int = .max) throws -> StoredEntry {
        var entry = NewEntry(key: EntryKey("key"), variant: variant, url: "http://test/key", metadata: [1])
        entry.variantLimit = limit
        return try store.writeWhole("key", pattern(100)).commit(entry).entry
    }

    private func found(_ store: DiskStore, _ variants: [String: String]) throws -> [String] {
        try store.entries(for: EntryKey("key")) { variants[String($0)] ?? "\($0)\nnone" }.map(\.variant).sorted()
    }

    @Test func `a look-up among many variants gives one of each group, preferably the wanted one`() throws {
        let test = try StoreUnderTest()
        for number in 0..<50 { _ = try put(test.store, "accept\n\(number)") }
        for number in 0..<50 { _ = try put(test.store, "accept,cookie\n\(number)") }
        for variant in ["", "*"] { _ = try put(test.store, variant) }
        try test.store.put("other", pattern(10), variant: "accept\n7")
        let wanted = ["accept": "accept\n7", "accept,cookie": "accept,cookie\n49"]
        #expect(try found(test.store, wanted) == ["", "*", "accept\n7", "accept,cookie\n49"])
        let missing = try found(test.store, ["accept": "accept\nx", "accept,cookie": "accept,cookie\nx"])
        #expect(missing.count == 4 && missing.filter { $0.hasPrefix("accept\n") }.count == 1)
        #expect(try test.store.entries(for: EntryKey("key")).count == 102)
    }

    @Test func `a look-up among a thousand variants reads no more rows than among ten`() throws {
        func steps(_ count: Int) throws -> Int {
            let test = try StoreUnderTest(capacity: 256 << 20)
            for number in 0..<count { _ = try put(test.store, "accept\n\(number)") }
            var asked = 0
            _ = try test.store.entries(for: EntryKey("key")) { group in
                asked += 1
                return "\(group)\n5"
            }
            return asked
        }
        #expect(try steps(10) == 1)
        #expect(try steps(1000) == 1)
    }

    @Test func `variants above the limit are evicted, the longest unused first`() throws {
        let test = try StoreUnderTest()
        let first = try put(test.store, "a\n0", limit: 4)
        for number in 1..<4 { _ = try put(test.store, "a\n\(number)", limit: 4) }
        try test.store.touch(first)
        _ = try put(test.store, "b\n4", limit: 4)
        _ = try put(test.store, "b\n4", limit: 4)
        let left = try test.store.entries(for: EntryKey("key")).map(\.variant).sorted()
        #expect(left == ["a\n0", "a\n2", "a\n3", "b\n4"])
        #expect(DiskUsage.files(at: test.path + "/bodies").count == 4)
        #expect(try test.store.statistics().entries == 4)
    }

    @Test func `an entry that takes over another's variant replaces that entry`() throws {
        let test = try StoreUnderTest()
        _ = try put(test.store, "a\n1")
        let two = try put(test.store, "a\n2")
        #expect(try test.store.updateMetadata(of: two, [7], variant: "a\n1") != nil)
        let left = try test.store.entries(for: EntryKey("key"))
        #expect(left.map(\.id) == [two.id] && left.map(\.metadata) == [[7]])
        #expect(try test.store.entry(for: EntryKey("key"), variant: "a\n1")?.id == two.id)
        #expect(try test.store.statistics().entries == 1)
    }
}
