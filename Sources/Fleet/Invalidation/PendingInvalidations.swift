import TextIdentity

/// Invalidations by this machine that are not yet published to the fleet: a value without I/O.
struct PendingInvalidations: Sendable {
    struct Item: Sendable {
        var scope: RemoteInvalidation
        /// The generation that begins with the invalidation, if its scope is a single resource.
        var generation = RemoteGeneration.new()
        /// The objects to delete.
        var objects: [String] = []
    }

    /// The maximum number of pending scopes with several resources. Beyond it, one invalidation of everything replaces them.
    static let maxScopes = 64

    private let maxCount: Int
    /// The items by number, in the order of insertion.
    private var items: [Int: Item] = [:]
    /// The numbers of the items with a single resource, by its URL.
    private var resources: [ByteText: Int] = [:]
    /// The numbers of the items with several resources.
    private var several: [RemoteInvalidation: Int] = [:]
    /// No item with a single resource has a lower number. Items with several resources may.
    private var firstResource = 0
    private var end = 0
    /// The number of dropped items.
    private(set) var lost = 0

    /// - Parameter maxCount: The maximum number of pending resources, which accumulate during an outage of the store.
    init(maxCount: Int = 4096) { self.maxCount = maxCount }

    var count: Int { items.count }
    /// The pending scopes with several resources.
    var scopes: [RemoteInvalidation] { Array(several.keys) }

    /// Adds an invalidation, which replaces an earlier one of the same resources. If there are too many resources, the oldest is dropped.
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
        findFirstResource()
        guard let url = items[firstResource]?.scope.url?.asBytes else { return }
        resources[url] = nil
        items[firstResource] = nil
        lost += 1
    }

    /// Only goes up, so that all calls together take a step for each item that was ever added.
    private mutating func findFirstResource() {
        while firstResource < end, items[firstResource]?.scope.url == nil { firstResource += 1 }
    }

    /// The generation of a resource that is not yet published; nil if its tombstone has the generation.
    func generation(of url: String) -> RemoteGeneration? {
        resources[url.asBytes].flatMap { items[$0]?.generation }
    }

    /// The oldest items, which remain until they are published.
    var batch: [Item] {
        let scopes = several.values.filter { $0 < firstResource }.sorted().compactMap { items[$0] }
        let rest = (firstResource..<end).lazy.compactMap { items[$0] }
        return scopes + rest.prefix(RemoteInvalidation.maxBatch - scopes.count)
    }

    /// Removes published items, unless they were added again in the meantime.
    mutating func acknowledged(_ batch: [Item]) {
        for item in batch {
            let place = item.scope.url.map { resources[$0.asBytes] } ?? several[item.scope]
            guard let place, items[place]?.generation == item.generation else { continue }
            items[place] = nil
            if let url = item.scope.url?.asBytes { resources[url] = nil } else { several[item.scope] = nil }
        }
        findFirstResource()
    }

    /// Drops all items.
    mutating func drop() {
        lost += items.count
        (items, resources, several, firstResource, end) = ([:], [:], [:], 0, 0)
    }
}
