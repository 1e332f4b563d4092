// Every stamp is written inside a write transaction of the index, so that only one process writes at a time.
//
// An invalidation consists of a new epoch, the removal, and another new epoch. Writes that began before the first epoch are rejected inside
// their own transaction, or were committed before it and are removed. Values read into memory between the two epochs are no longer current
// after the second. Other changes of a resource's entries are recorded in their transaction, and as settled after it; values read into
// memory in between are not used. If a process is killed between two stamps, other processes query the index more often.
extension DiskStore {
    /// The resource's current generation. Must be read before the content that it describes is read or requested.
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
                ids += try index.catalogue().entries.variants(of: key).map(\.id)
                partials += try index.catalogue().partials.partials(of: key)
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
    /// Works in steps, each of which records a change of the resource. After a kill the others remain, as after a kill before this call.
    ///
    /// - Parameter generation: The new entry's generation.
    /// - Returns: The new entry's generation afterwards.
    package func remove(
        _ replaced: [StoredEntry], and key: EntryKey, replacedIn generation: Generation
    ) throws(StoreError) -> Generation {
        let steps = try withIndex { (index) throws(StoreError) in
            try index.batches(of: replaced.map(\.id) + index.catalogue().entries.variants(of: key).map(\.id))
        }
        var generation = generation
        for step in steps {
            generation = try withIndex { (index) throws(StoreError) in
                let (removed, noted) = try index.change { (totals) throws(StoreError) in
                    (try index.markDeleted(step, &totals), try index.noted(generation))
                }
                try index.deleteDoomed(removed)
                return noted
            }
        }
        return generation
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
        try change { (_) throws(StoreError) in try transactionGenerations().invalidate(scope) }
    }

    /// Invalidates before a removal, so that the removal also works on a full disk. Writers that passed the check
    /// before have committed when this returns.
    func tryToInvalidate(_ scope: InvalidationScope) throws(StoreError) {
        do throws(StoreError) { try invalidate(scope) } catch  where error.code == .full {}
    }

    /// Throws ``StoreError/Code/outdated`` if content read in that generation must not enter the store. Must be called
    /// inside the transaction that stores it.
    func requireCurrent(_ generation: Generation?) throws(StoreError) {
        guard let generation else { return }
        let table = try transactionGenerations()
        if table.isCurrent(generation) { return }
        // Otherwise the generation that is read for the next attempt might be no better. A change of this very transaction is not for
        // others to see yet.
        if !unsettled.contains(where: { $0.slot == generation.slot }) { try table.settle(slot: generation.slot) }
        throw StoreError(.outdated, "the resource was changed or invalidated meanwhile", path: paths.root)
    }

    /// Records a change of the resource's entries inside its transaction.
    ///
    /// - Returns: The generation after it, or one that is not current if the given one was not.
    func noted(_ generation: Generation) throws(StoreError) -> Generation {
        let table = try transactionGenerations()
        let wasCurrent = table.isCurrent(generation)
        let after = try table.change(generation)
        unsettled.append(after)
        return wasCurrent ? after : generation
    }

    /// Records a change of a resource's entries inside its transaction, by one who knows the index as it is there.
    func noted(_ resource: String) throws(StoreError) -> Generation {
        let table = try transactionGenerations()
        let after = try table.change(table.generation(of: resource))
        unsettled.append(after)
        return after
    }

    /// Records that the index shows the changes of the transaction that has ended. On failure others look at the index.
    func settleGenerations() {
        if unsettled.isEmpty { return }
        let table = generations.table()
        var overtaken: [Int] = []
        for generation in unsettled where (try? table.settle(generation)) == false { overtaken.append(generation.slot) }
        unsettled.removeAll(keepingCapacity: true)
        settle(overtaken)
    }

    /// Settles slots while no other process changes the index. On failure others look at the index.
    func settle(_ slots: [Int]) {
        guard !slots.isEmpty, let catalogue = openCatalogue, (try? catalogue.begin()) != nil else { return }
        // Nothing was changed in the index.
        defer { catalogue.rollBack() }
        guard let table = try? generations.tableNow() else { return }
        for slot in slots { try? table.settle(slot: slot) }
    }

    /// Drops a key's idle partials; those in use belong to their writers only from now on.
    func removePartials(for key: EntryKey) throws(StoreError) { try remove(catalogue().partials.partials(of: key)) }

    func remove(_ partials: [PartialRow]) throws(StoreError) {
        for row in partials where try dropIfIdle(row) == 0 { try disown(row) }
    }

    /// Ensures that look-ups no longer find a partial by its key.
    func disown(_ row: PartialRow) throws(StoreError) {
        try change { (_) throws(StoreError) in try catalogue().partials.disown(row.id) }
    }
}
