@testable import MemoryCache

/// The rules of the memory cache in the simplest form: an array in the order of access, searched from its beginning.
struct NaiveCache {
    struct Item {
        var key: TestKey
        var value: Int
        var cost: Int
    }

    /// The next to be removed first.
    private(set) var items: [Item] = []
    var capacity: Int
    var preferredUsage: Int

    var bytes: Int { items.reduce(0) { $0 + $1.cost } }

    mutating func value(for key: TestKey) -> Int? {
        guard let item = take(key) else { return nil }
        items.append(item)
        return item.value
    }

    mutating func insert(_ value: Int, _ key: TestKey, cost: Int) -> Bool {
        _ = take(key)
        if cost > capacity { return false }
        items.append(Item(key: key, value: value, cost: cost))
        purgeAboveCapacity()
        return items.last?.key == key
    }

    mutating func remove(_ key: TestKey) -> Int? { take(key)?.value }

    mutating func removeVariants(of original: String) -> Int {
        let before = items.count
        items.removeAll { $0.key.original == original }
        return before - items.count
    }

    mutating func removeAll() { items = [] }

    mutating func setLimits(capacity: Int, preferredUsage: Int) {
        (self.capacity, self.preferredUsage) = (capacity, preferredUsage)
        purgeAboveCapacity()
    }

    mutating func respond(to pressure: MemoryPressure) {
        if pressure == .critical { items = [] } else { purge() }
    }

    private mutating func purgeAboveCapacity() {
        if bytes > capacity { purge() }
    }

    private mutating func purge() {
        while bytes > preferredUsage { items.removeFirst() }
    }

    private mutating func take(_ key: TestKey) -> Item? {
        items.firstIndex { $0.key == key }.map { items.remove(at: $0) }
    }
}
