@testable import MemoryCache

/// The memory cache's rules written down as plainly as can be: a list in the order of use, searched from its beginning.
struct NaiveCache {
    struct Item: Equatable {
        var key: TestKey
        var value: Int
        var cost: Int
        var expiry: Duration?
        var isPinned: Bool
    }

    /// The next to go first.
    private(set) var items: [Item] = []
    var capacity: Int
    var preferredUsage: Int
    var now = Duration.zero

    var bytes: Int { items.reduce(0) { $0 + $1.cost } }

    mutating func value(for key: TestKey) -> Int? {
        guard let item = take(key) else { return nil }
        if let expiry = item.expiry, now >= expiry { return nil }
        items.append(item)
        return item.value
    }

    mutating func insert(_ value: Int, _ key: TestKey, cost: Int, timeLimit: Duration?, pinned: Bool) {
        let old = take(key)
        if cost > capacity { return }
        items.append(
            Item(
                key: key, value: value, cost: cost, expiry: timeLimit.map { now + $0 },
                isPinned: pinned || old?.isPinned == true))
        purgeAboveCapacity()
    }

    mutating func remove(_ key: TestKey) -> Int? { take(key)?.value }

    mutating func removeVariants(of original: String) -> Int {
        let before = items.count
        items.removeAll { $0.key.original == original }
        return before - items.count
    }

    mutating func removeAll() { items = [] }

    mutating func setPinned(_ isPinned: Bool, _ key: TestKey) -> Bool {
        guard var item = take(key) else { return false }
        item.isPinned = isPinned
        items.append(item)
        return true
    }

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
        while bytes > preferredUsage, let oldest = items.firstIndex(where: { !$0.isPinned }) {
            items.remove(at: oldest)
        }
        while bytes > capacity { items.removeFirst() }
    }

    private mutating func take(_ key: TestKey) -> Item? {
        items.firstIndex { $0.key == key }.map { items.remove(at: $0) }
    }
}
