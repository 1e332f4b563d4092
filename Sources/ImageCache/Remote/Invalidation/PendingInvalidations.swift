/// Invalidations by this machine that the fleet has not been told yet: a value, without I/O.
struct PendingInvalidations: Sendable {
    struct Item: Sendable {
        var scope: RemoteInvalidation
        /// The generation that begins with it; of one resource alone.
        var generation = RemoteGeneration.new()
        /// The objects that it makes useless.
        var objects: [String] = []
        /// False if another item tells the machines of it.
        var isAnnounced = true
    }

    private let maxCount: Int
    private var items: [Item] = []
    /// The number of those that were dropped because too many waited.
    private(set) var lost = 0

    init(maxCount: Int = 4096) { self.maxCount = maxCount }

    var count: Int { items.count }

    /// Adds an invalidation, in the place of an earlier one of the same resource; the oldest is dropped when there are too many.
    mutating func add(_ item: Item) {
        var item = item
        if let url = item.scope.url, let index = items.firstIndex(where: { $0.scope.url == url }) {
            let earlier = items.remove(at: index)
            if case .url(_, allOwners: true) = earlier.scope { item.scope = earlier.scope }
            item.objects += earlier.objects.filter { !item.objects.contains($0) }
            item.isAnnounced = item.isAnnounced || earlier.isAnnounced
        }
        items.append(item)
        guard items.count > maxCount else { return }
        items.removeFirst()
        lost += 1
    }

    /// The generation that a resource has here, as long as the fleet does not know it; nil: the one that its tombstone says.
    func generation(of url: String) -> RemoteGeneration? { items.last { $0.scope.url == url }?.generation }

    /// The oldest ones, which stay until they are told.
    var batch: [Item] { Array(items.prefix(RemoteInvalidation.maxBatch)) }

    /// Notes that the fleet knows these. One that was added again meanwhile stays.
    mutating func told(_ batch: [Item]) {
        let told = Set(batch.map(\.generation))
        items.removeAll { told.contains($0.generation) }
    }

    /// Drops all of them.
    mutating func drop() {
        lost += items.count
        items = []
    }
}
