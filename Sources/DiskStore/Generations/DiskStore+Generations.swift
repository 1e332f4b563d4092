// Every stamp is written inside a write transaction of the index, so that no two processes write at once.
//
// An invalidation is: a new epoch, the removal, a new epoch again. What began before the first is refused inside its own
// transaction, or was committed before it and is removed; what was read into memory between the two is no longer current after
// the second. Other changes of a resource's entries are noted in their transaction and once more behind it, for the same
// reason. A process that is killed between two stamps leaves one that costs the others a look at the index.
extension DiskStore {
    /// The resource's generation now. To be read before what it is to stand for is read or asked for.
    public func generation(of resource: String) -> Generation { generations.table().generation(of: resource) }

    /// Whether nothing of the resource has changed since: three atomic loads, no system call but one a second.
    public func isCurrent(_ generation: Generation) -> Bool { generations.table().isCurrent(generation) }

    /// Whether the resource has not been invalidated since.
    public func isCurrent(_ epoch: Generation.Epoch) -> Bool { generations.table().isCurrent(epoch) }

    /// Whether this very resource has been invalidated since, and not just everything or some of it.
    func isInvalidated(since epoch: Generation.Epoch) -> Bool { generations.table().isInvalidated(since: epoch) }

    /// Removes keys of one resource with their partials, and invalidates it: nothing that began before enters the store, and
    /// no copy in memory is used, in any process on the directory. A partial that somebody works on is left to them, and is
    /// never found again.
    @discardableResult
    public func remove(_ keys: [EntryKey], invalidating scope: InvalidationScope) throws(StoreError) -> PruneResult {
        try withIndex { (index) throws(StoreError) in
            try index.tryToInvalidate(scope)
            var ids: [Int64] = []
            var partials: [PartialRow] = []
            for key in keys {
                ids += try index.catalogue().entries(of: key).map(\.id)
                partials += try index.catalogue().partials(of: key)
            }
            // Nobody can have read what is not there: after most unsafe requests it ends here.
            if ids.isEmpty, partials.isEmpty { return .nothing }
            let removed = try index.removeCounted(ids)
            try index.remove(partials)
            try index.invalidate(scope)
            return removed
        }
    }

    /// Removes one entry and all of a key that was made of it, and invalidates its resource. False if the entry was gone.
    public func remove(_ entry: StoredEntry, invalidating key: EntryKey?) throws(StoreError) -> Bool {
        try invalidating(.resource(entry.url)) { () throws(StoreError) in
            if let key { try remove(key) }
            return try remove(entry)
        }
    }

    /// Removes what a new entry of the resource has replaced: other entries of it, and all of a key.
    ///
    /// - Parameter generation: the new entry's.
    /// - Returns: the new entry's generation afterwards.
    public func remove(
        _ replaced: [StoredEntry], and key: EntryKey, replacedIn generation: Generation
    ) throws(StoreError) -> Generation {
        try withIndex { (index) throws(StoreError) in
            let ids = try replaced.map(\.id) + index.catalogue().entries(of: key).map(\.id)
            if ids.isEmpty { return generation }
            let (removed, noted) = try index.change { (totals) throws(StoreError) in
                var removed: [Int64] = []
                for id in ids where try index.doom(id, &totals) { removed.append(id) }
                return (removed, try index.noted(generation))
            }
            try index.deleteDoomed(removed)
            return try index.settled(noted)
        }
    }

    /// Runs a removal between two new epochs.
    func invalidating<Result: Sendable>(
        _ scope: InvalidationScope, _ remove: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try withIndex { (index) throws(StoreError) in try index.tryToInvalidate(scope) }
        let result = try remove()
        try withIndex { (index) throws(StoreError) in try index.invalidate(scope) }
        return result
    }
}

extension Index {
    func invalidate(_ scope: InvalidationScope) throws(StoreError) {
        try change { (_) throws(StoreError) in try generations.tableNow.invalidate(scope) }
    }

    /// Invalidates before a removal, which makes room and is what helps where there is none. Whoever had passed the check has
    /// committed when this returns.
    func tryToInvalidate(_ scope: InvalidationScope) throws(StoreError) {
        do throws(StoreError) { try invalidate(scope) } catch  where error.code == .full {}
    }

    /// Throws ``StoreError/Code/outdated`` when what was read in that generation must not enter the store. To be called inside
    /// the transaction that puts it there.
    func requireCurrent(_ generation: Generation?) throws(StoreError) {
        guard let generation, !generations.tableNow.isCurrent(generation) else { return }
        throw StoreError(.outdated, "the resource was changed or invalidated meanwhile", path: paths.root)
    }

    /// Notes a change of the resource's entries inside its transaction.
    ///
    /// - Returns: the generation after it, or one that is not current if the given one was not.
    func noted(_ generation: Generation) throws(StoreError) -> Generation {
        let table = generations.tableNow
        let wasCurrent = table.isCurrent(generation)
        let after = try table.change(generation)
        return wasCurrent ? after : generation
    }

    /// Notes a change again when it is durable; returns the generation that holds from now on.
    func settled(_ noted: Generation) throws(StoreError) -> Generation {
        try change { (_) throws(StoreError) in
            let table = generations.table()
            // Else somebody else has changed the resource after us, and notes that.
            return table.isCurrent(noted) ? try table.change(noted) : noted
        }
    }

    /// Drops a key's idle partials; those in use are their writers' alone from now on.
    func removePartials(for key: EntryKey) throws(StoreError) { try remove(catalogue().partials(of: key)) }

    func remove(_ partials: [PartialRow]) throws(StoreError) {
        for row in partials where try dropIfIdle(row) == 0 { try disown(row) }
    }

    /// Sees to it that nobody finds a partial by its key any more.
    func disown(_ row: PartialRow) throws(StoreError) {
        try change { (_) throws(StoreError) in try catalogue().disownPartial(row.id) }
    }
}
