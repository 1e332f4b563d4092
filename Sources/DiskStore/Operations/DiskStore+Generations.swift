// Every stamp is written inside a write transaction of the index, so that processes write one at a time.
//
// An invalidation consists of a new epoch, the removal, and another new epoch. Writes begun before the first are
// refused inside their own transaction, or were committed before it and are removed; values read into memory between
// the two are no longer current after the second. Other changes of a resource's entries are recorded in their
// transaction and once more after it, for the same reason. A process killed between two stamps leaves one that costs
// other processes a look at the index.
extension DiskStore {
    /// The resource's present generation. Must be read before the content that it is to stand for is read or requested.
    package func generation(of resource: String) -> Generation { generations.table().generation(of: resource) }

    /// Returns true if the resource has not changed since: three atomic loads, and one system call a second at most.
    package func isCurrent(_ generation: Generation) -> Bool { generations.table().isCurrent(generation) }

    /// Returns true if the resource has not been invalidated since.
    package func isCurrent(_ epoch: Generation.Epoch) -> Bool { generations.table().isCurrent(epoch) }

    /// Returns true if this resource itself has been invalidated since, not only everything.
    func isInvalidated(since epoch: Generation.Epoch) -> Bool { generations.table().isInvalidated(since: epoch) }

    /// Removes keys of one resource with their partials, and invalidates it: writes begun before do not enter the
    /// store, and copies in memory are not used, in any process on the directory. A partial in use is left to its
    /// writer, and look-ups no longer find it.
    @discardableResult
    package func remove(_ keys: [EntryKey], invalidating scope: InvalidationScope) throws(StoreError) -> PruneResult {
        try withIndex { (index) throws(StoreError) in
            try index.tryToInvalidate(scope)
            var ids: [Int64] = []
            var partials: [PartialRow] = []
            for key in keys {
                ids += try index.catalogue().entries(of: key).map(\.id)
                partials += try index.catalogue().partials(of: key)
            }
            // Nothing can have been read: the usual case after unsafe requests.
            if ids.isEmpty, partials.isEmpty { return .nothing }
            let removed = try index.removeCounted(ids)
            try index.remove(partials)
            try index.invalidate(scope)
            return removed
        }
    }

    /// Removes one entry and all of a key derived from it, and invalidates its resource. Returns false if the entry did
    /// not exist.
    package func remove(_ entry: StoredEntry, invalidating key: EntryKey?) throws(StoreError) -> Bool {
        try invalidating(.resource(entry.url)) { () throws(StoreError) in
            if let key { try remove(key) }
            return try remove(entry)
        }
    }

    /// Removes the entries that a new entry of the resource has replaced: other entries of it, and all of a key.
    ///
    /// - Parameter generation: The new entry's generation.
    /// - Returns: The new entry's generation afterwards.
    package func remove(
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

    /// Performs a removal between two new epochs.
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

    /// Invalidates before a removal, so that the removal also works on a full disk. Writers that passed the check
    /// before have committed when this returns.
    func tryToInvalidate(_ scope: InvalidationScope) throws(StoreError) {
        do throws(StoreError) { try invalidate(scope) } catch  where error.code == .full {}
    }

    /// Throws ``StoreError/Code/outdated`` if content read in that generation must not enter the store. Must be called
    /// inside the transaction that stores it.
    func requireCurrent(_ generation: Generation?) throws(StoreError) {
        guard let generation, !generations.tableNow.isCurrent(generation) else { return }
        throw StoreError(.outdated, "the resource was changed or invalidated meanwhile", path: paths.root)
    }

    /// Records a change of the resource's entries inside its transaction.
    ///
    /// - Returns: The generation after it, or one that is not current if the given one was not.
    func noted(_ generation: Generation) throws(StoreError) -> Generation {
        let table = generations.tableNow
        let wasCurrent = table.isCurrent(generation)
        let after = try table.change(generation)
        return wasCurrent ? after : generation
    }

    /// Records a change again when it is durable; returns the present generation.
    func settled(_ noted: Generation) throws(StoreError) -> Generation {
        try settled([noted]).first.flatMap { $0 } ?? noted
    }

    /// Records changes again when they are durable; returns the present generations.
    func settled(_ noted: [Generation?]) throws(StoreError) -> [Generation?] {
        try change { (_) throws(StoreError) in
            let table = generations.table()
            var settled = noted
            for (index, generation) in noted.enumerated() {
                // Otherwise somebody else has changed the resource since, and records that.
                if let generation, table.isCurrent(generation) { settled[index] = try table.change(generation) }
            }
            return settled
        }
    }

    /// Drops a key's idle partials; those in use belong to their writers only from now on.
    func removePartials(for key: EntryKey) throws(StoreError) { try remove(catalogue().partials(of: key)) }

    func remove(_ partials: [PartialRow]) throws(StoreError) {
        for row in partials where try dropIfIdle(row) == 0 { try disown(row) }
    }

    /// Ensures that look-ups no longer find a partial by its key.
    func disown(_ row: PartialRow) throws(StoreError) {
        try change { (_) throws(StoreError) in try catalogue().disownPartial(row.id) }
    }
}
