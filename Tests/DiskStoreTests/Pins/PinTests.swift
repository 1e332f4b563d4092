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

    /// Fills the store several times over with what nobody pinned.
    private func fill() throws {
        for number in 0..<40 { try store.put("other \(number)", pattern(400_000)) }
    }

    @Test func `what is pinned stays, whether it was stored before or after`() throws {
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

    @Test func `a pin passes to the body that takes another one's place, and the old one goes`() throws {
        _ = try pin(["a"], as: "one")
        try store.put("a", pattern(100_000))
        try store.put("a", pattern(50_000, seed: 2))
        try fill()
        #expect(try store.read("a") == pattern(50_000, seed: 2))
        #expect(try store.statistics().doomedBytes == 0)
        #expect(try store.pinnedBytes() == store.entries(for: EntryKey("a"))[0].allocated)
    }

    @Test func `two sets hold a file until the last of them lets go`() throws {
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

    @Test func `prune and clear spare pins unless they are told not to`() throws {
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

    @Test func `what has no room beside pins is refused, and nothing is evicted for it`() throws {
        _ = try pin((0..<14).map { "pinned \($0)" }, as: "one")
        for number in 0..<14 { try store.put("pinned \(number)", pattern(400_000)) }
        try store.put("small", pattern(10_000))
        let error = #expect(throws: StoreError.self) { try store.put("large", pattern(3_000_000)) }
        #expect(error?.code == .held)
        #expect(try store.has("small") && store.has("pinned 0"))
        #expect(test.allocated <= 8 << 20)
    }

    @Test func `the members that a set no longer names are let go, the others stay`() throws {
        for name in ["a", "b", "c"] { try store.put(name, pattern(50_000)) }
        _ = try pin(["a", "b"], as: "one")
        let set = try pin(["b", "c"], as: "one")
        #expect(set.total == 2 && set.present == 2)
        try fill()
        #expect(try !store.has("a") && store.has("b") && store.has("c"))
    }
}
