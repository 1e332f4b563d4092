import TextIdentity

/// Invalidations by this machine that the fleet has not been told yet: a value, without I/O.
struct PendingInvalidations: Sendable {
    struct Item: Sendable {
        var scope: RemoteInvalidation
        /// The generation that begins with it; of one resource alone.
        var generation = RemoteGeneration.new()
        /// The objects that it makes useless.
        var objects: [String] = []
    }

    /// Beyond so many of several resources that wait, one of everything takes their place.
    static let maxScopes = 64

    private let maxCount: Int
    /// By their places in the order in which they came.
    private var items: [Int: Item] = [:]
    /// The places of those of one resource, by its URL.
    private var resources: [ByteText: Int] = [:]
    /// The places of those of several resources.
    private var several: [RemoteInvalidation: Int] = [:]
    private var first = 0
    private var end = 0
    /// The number of those that were dropped because too many waited.
    private(set) var lost = 0

    /// - Parameter maxCount: The number of resources that an outage of the store may leave waiting.
    init(maxCount: Int = 4096) { self.maxCount = maxCount }

    var count: Int { items.count }
    /// Those of several resources.
    var scopes: [RemoteInvalidation] { Array(several.keys) }

    /// Adds an invalidation, in the place of an earlier one of the same resources; the oldest of a resource is dropped when there are too many.
    mutating func add(_ item: Item) {
        guard let url = item.scope.url?.asBytes else { return addScope(item) }
        var item = item
        if let earlier = resources[url].flatMap({ items[$0] }) {
            if case .url(_, allOwners: true) = earlier.scope { item.scope = earlier.scope }
            item.objects += earlier.objects.filter { !item.objects.contains($0) }
        }
        resources[url] = put(item, at: resources[url])
        if resources.count > maxCount { dropOldest() }
    }

    private mutating func addScope(_ item: Item) {
        several[item.scope] = put(item, at: several[item.scope])
        guard several.count > Self.maxScopes else { return }
        for place in several.values { items[place] = nil }
        several = [.everything: put(Item(scope: .everything), at: nil)]
    }

    private mutating func put(_ item: Item, at place: Int?) -> Int {
        let place = place ?? end
        items[place] = item
        end = max(end, place + 1)
        return place
    }

    private mutating func dropOldest() {
        guard let place = (first..<end).first(where: { items[$0]?.scope.url != nil }),
            let url = items[place]?.scope.url?.asBytes
        else { return }
        resources[url] = nil
        items[place] = nil
        lost += 1
        passGaps()
    }

    private mutating func passGaps() { while first < end, items[first] == nil { first += 1 } }

    /// The generation that a resource has here, as long as the fleet does not know it; nil: the one that its tombstone says.
    func generation(of url: String) -> RemoteGeneration? {
        resources[url.asBytes].flatMap { items[$0]?.generation }
    }

    /// The oldest ones, which stay until they are told.
    var batch: [Item] { Array((first..<end).lazy.compactMap { items[$0] }.prefix(RemoteInvalidation.maxBatch)) }

    /// Notes that the fleet knows these. One that was added again meanwhile stays.
    mutating func told(_ batch: [Item]) {
        for item in batch {
            let place = item.scope.url.map { resources[$0.asBytes] } ?? several[item.scope]
            guard let place, items[place]?.generation == item.generation else { continue }
            items[place] = nil
            if let url = item.scope.url?.asBytes { resources[url] = nil } else { several[item.scope] = nil }
        }
        passGaps()
    }

    /// Drops all of them.
    mutating func drop() {
        lost += items.count
        (items, resources, several, first, end) = ([:], [:], [:], 0, 0)
    }
}
