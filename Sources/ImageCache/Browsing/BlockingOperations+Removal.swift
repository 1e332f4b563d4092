package import DiskStore
import HTTPCaching
import TextIdentity

extension BlockingOperations {
    /// Removes all variants of a request's URL, the images derived from them, and its partial.
    package func remove(_ request: FileRequest) throws(ImageCacheError) -> RemovalResult {
        let resolved = try ResolvedRequest(request, by: cache.fetcher.rules)
        cache.fetcher.tier?.invalidate(
            [resolved.key], url: resolved.url, allOwners: resolved.namespace != .shared)
        defer { cache.forgetImages(of: request) }
        return try translating {
            let partials = try store.partial(for: resolved.key) == nil ? 0 : 1
            return RemovalResult(try removeEntries(of: resolved), partials: partials)
        }
    }

    private func removeEntries(of resolved: ResolvedRequest) throws(StoreError) -> PruneResult {
        try store.remove(resolved.requestKey.removedKeys, invalidating: .resource(resolved.url))
    }

    /// Removes the entries, derived images and partials that match a target.
    package func remove(_ target: RemovalTarget) throws(ImageCacheError) -> RemovalResult {
        switch target {
        case .entry(let id): return try removeEntry(id)
        case .owner(let owner):
            var request = FileRequest("")
            request.owner = owner
            return try removeNamespace(of: request)
        case .url(let url):
            // Nearly all entries are in the shared namespace, where they are found by key.
            let shared = try remove(FileRequest(url))
            let key = cache.fetcher.rules.keyURL(of: url)
            cache.fetcher.tier?.invalidate([EntryKey(.response(RequestKey(url: key)))], url: key, allOwners: true)
            let target = RemovalTarget.url(key)
            return try shared + removeMatches(target.matcher, target.places, invalidating: .resource(key))
        case .prefix, .host:
            // Before the removal, so that concurrent requests do not use the tier.
            cache.fetcher.tier?.invalidate(target)
            return try removeMatches(target.matcher, target.places, invalidating: .everything)
        case .everything:
            cache.fetcher.tier?.invalidate(.everything)
            return try clear(.everything)
        }
    }

    private func removeMatches(
        _ matches: (String) -> Bool, _ places: [String], invalidating scope: InvalidationScope
    ) throws(ImageCacheError) -> RemovalResult {
        let result = try translating { try store.removeMatches(matches, places, invalidating: scope) }
        if result.entries > 0 { cache.forgetImages() }
        return result
    }

    private func removeEntry(_ id: Int64) throws(ImageCacheError) -> RemovalResult {
        defer { cache.forgetImages() }
        return try translating {
            guard let entry = try store.entry(id) else { return RemovalResult() }
            // Before the removal, as above.
            cache.fetcher.tier?.invalidate([entry.key], url: entry.url, allOwners: false)
            guard try store.remove(entry, invalidating: entry.key.request.map { EntryKey(.derivedImages($0)) })
            else { return RemovalResult() }
            return RemovalResult(entries: 1, bytes: entry.allocated)
        }
    }

    /// Removes a partial. One that a process is downloading now is left to that process.
    package func remove(_ partial: CachePartial) throws(ImageCacheError) {
        try translating { try store.removePartials(for: partial.key) }
    }

    /// Removes the lists and the pins of an owner.
    private func removeRetained(ofOwner owner: String) throws(ImageCacheError) {
        try translating {
            try store.removeLists(owner: owner)
            try store.removePinSets(owner: owner)
        }
    }

    /// Removes the entries and partials in the namespace of a request's owner or credentials, or in the shared namespace if it has neither.
    /// The request's URL is not used.
    package func removeNamespace(of request: FileRequest) throws(ImageCacheError) -> RemovalResult {
        let namespace = ResolvedRequest.namespace(of: request, userinfo: nil)
        cache.forgetImages()
        if let owner = request.owner { try removeRetained(ofOwner: owner) }
        let isMeant = { (key: EntryKey) in StoreKey(key.value)?.namespace == namespace }
        return try translating {
            RemovalResult(
                try store.remove(
                    invalidating: .everything, where: { _ in false }, partials: { isMeant($0.key) },
                    others: (mayMatch: { _ in true }, matches: { isMeant($0.key) })))
        }
    }

    /// Evicts the least recently used entries.
    package func prune(
        to size: Int64?, olderThan age: Duration?, dryRun: Bool, includingPins: Bool = false
    ) throws(ImageCacheError) -> RemovalResult {
        try translating {
            RemovalResult(try store.prune(to: size, olderThan: age, dryRun: dryRun, sparingPins: !includingPins))
        }
    }

    /// Evicts the least recently used entries until the store is within its capacity. Entries held by running commands remain.
    package func evictExcess() throws(ImageCacheError) -> RemovalResult {
        try translating { RemovalResult(try store.keepWithinCapacity()) }
    }

    /// The difference between the configured capacity and the one saved in the store; `nil` if they are equal.
    package var capacityChange: CapacityChange? { store.capacityChange }

    /// Removes everything, or one part of the cache.
    package func clear(_ part: CachePart, includingPins: Bool = false) throws(ImageCacheError) -> RemovalResult {
        if part != .partials { cache.forgetImages() }
        guard part != .memory else { return RemovalResult() }
        return try translating {
            let before = try store.partials().count
            let cleared = try store.clear(
                part == .partials ? .partials : .everything, sparingPins: !includingPins)
            return RemovalResult(cleared, partials: try before - store.partials().count)
        }
    }
}

extension DiskStore {
    /// Removes the entries and partials whose URL matches.
    ///
    /// Entries that do not vary on their whole query (`No-Vary-Search`) have a URL that equivalent ones have in common, so they are found by their
    /// URL without a query.
    ///
    /// - Parameter places: ``RemovalTarget/places``.
    @discardableResult
    package func removeMatches(
        _ matches: (String) -> Bool, _ places: [String], invalidating scope: InvalidationScope
    ) throws(StoreError) -> RemovalResult {
        let mayMatch = { (url: String) in
            let place = RemovalTarget.place(of: url)
            return places.contains { $0.hasSameBytes(as: place) }
        }
        let removed = try remove(
            invalidating: scope, where: matches,
            partials: { partial in ResponseRecord(decoding: partial.header).map { matches($0.url) } ?? false },
            others: places.isEmpty ? nil : (mayMatch, { $0.key.isOfNoVarySearch }))
        return RemovalResult(removed)
    }
}
