/// The entries that were, or would be, removed.
package struct PruneResult: Sendable, Equatable {
    package var entries: Int
    /// The space that they occupied. It is free as soon as they have no readers.
    package var bytes: Int64
    /// Partial downloads that were removed with them because they match, which are not among the bytes.
    package var partials = 0

    package static let nothing = PruneResult(entries: 0, bytes: 0)

    package init(entries: Int, bytes: Int64) {
        self.entries = entries
        self.bytes = bytes
    }
}

extension DiskStore {
    /// Removes the least recently used entries, and if that does not suffice for the target, idle partials.
    ///
    /// - Parameters:
    ///   - target: The greatest size of bodies and partials together, in bytes; nil: no limit.
    ///   - age: The time since last use beyond which entries are removed in any case; nil: none. By the dates that are
    ///     displayed.
    ///   - dryRun: True to remove nothing and only return the result.
    ///   - sparingPins: True to keep pinned entries, which count towards the target.
    package func prune(
        to target: Int64? = nil, olderThan age: Duration? = nil, dryRun: Bool = false, sparingPins: Bool = true
    ) throws(StoreError) -> PruneResult {
        let before = age.map { configuration.clock().milliseconds - $0.milliseconds }
        let (victims, result) = try withIndex { (index) throws(StoreError) in
            try index.flush()
            let totals = try index.readTotals()
            return try index.victims(
                excess: target.map { totals.bodies + totals.partials - max(0, $0) } ?? 0, before: before,
                sparingPins: sparingPins)
        }
        if dryRun { return result }
        var removed = try removeInSteps(victims)
        if let target {
            removed.bytes += try withIndex { (index) throws(StoreError) in
                let totals = try index.readTotals()
                let excess = totals.bodies + totals.partials - max(0, target)
                return excess > 0 ? try index.dropPartials(olderThan: nil, atLeast: excess) : 0
            }
        }
        return removed
    }

    /// The scope of ``clear(_:)``.
    package enum ClearScope: Sendable {
        /// All entries and all idle partials.
        case everything
        /// Idle partials only.
        case partials
    }

    /// Empties the store, and invalidates everything if everything is removed. Bodies that are being read remain
    /// readable, and are deleted when they have no readers.
    ///
    /// - Parameter sparingPins: True to keep pinned entries.
    @discardableResult
    package func clear(_ what: ClearScope = .everything, sparingPins: Bool = false) throws(StoreError) -> PruneResult {
        guard what == .everything else { return try clearFiles(.partials) }
        return try invalidating(.everything) { () throws(StoreError) in
            try clearFiles(.everything, sparingPins: sparingPins)
        }
    }

    private func clearFiles(_ what: ClearScope, sparingPins: Bool = false) throws(StoreError) -> PruneResult {
        var result = PruneResult.nothing
        if what == .everything {
            let ids = try withIndex { (index) throws(StoreError) in
                try index.victims(excess: .max, before: nil, sparingPins: sparingPins).ids
            }
            result = try removeInSteps(ids)
        }
        let rows = try withIndex { (index) throws(StoreError) in try index.catalogue().partials.all() }
        for row in rows {
            result.bytes += try withIndex { (index) throws(StoreError) in
                let freed = try index.dropIfIdle(row)
                if freed == 0, what == .everything { try index.disown(row) }
                return freed
            }
        }
        try withIndex { (index) throws(StoreError) in
            try index.releaseDeadRuns()
            _ = try index.deleteDoomed()
            try index.shrink()
        }
        return result
    }

    /// Removes entries, in steps between which other callers get their turn.
    func removeInSteps(_ ids: [Int64]) throws(StoreError) -> PruneResult {
        var result = PruneResult.nothing
        var start = 0
        while start < ids.count {
            let step = Array(ids[start..<min(ids.count, start + 100)])
            start += step.count
            let removed = try withIndex { (index) throws(StoreError) in try index.removeCounted(step) }
            result.entries += removed.entries
            result.bytes += removed.bytes
        }
        return result
    }
}

extension Index {
    /// The least recently used entries: as many as occupy `excess` bytes, and all last used before a date.
    func victims(excess: Int64, before: Int64?, sparingPins: Bool) throws(StoreError) -> (
        ids: [Int64], sum: PruneResult
    ) {
        var selection = PruneSelection(excess: excess, before: before)
        try catalogue().entries.forEachByUse(sparingPins: sparingPins) { selection.consider($0) }
        return (selection.ids, PruneResult(entries: selection.ids.count, bytes: selection.bytes))
    }

    /// Removes entries, also on a full disk.
    func removeCounted(_ ids: [Int64]) throws(StoreError) -> PruneResult {
        var result = PruneResult.nothing
        for batch in batches(of: ids) {
            let removed = try removeCounted(batch: Array(batch))
            result.entries += removed.entries
            result.bytes += removed.bytes
        }
        return result
    }

    private func removeCounted(batch ids: [Int64]) throws(StoreError) -> PruneResult {
        let doomed: (ids: [Int64], bytes: Int64)
        do throws(StoreError) { doomed = try markDeleted(ids) } catch  where error.code == .full {
            // On a disk too full for a transaction the files are deleted first: a row without its file is a miss.
            for id in ids { _ = try deleteUnlessInUse(id) }
            doomed = try markDeleted(ids)
        }
        // If the disk is full again, the next sweep deletes the rows.
        do throws(StoreError) { _ = try deleteDoomed(doomed.ids) } catch  where error.code == .full {}
        return PruneResult(entries: doomed.ids.count, bytes: doomed.bytes)
    }

    private func markDeleted(_ ids: [Int64]) throws(StoreError) -> (ids: [Int64], bytes: Int64) {
        try change { (totals) throws(StoreError) in
            let before = totals.bodies
            return (try markDeleted(ids, &totals), before - totals.bodies)
        }
    }

    /// Returns the index file's free pages to the disk if they are many.
    func shrink() throws(StoreError) {
        let catalogue = try catalogue()
        let free = try catalogue.freePageCount()
        if free > 64, try free * 4 > catalogue.pageCount() { _ = try vacuumFreePages() }
    }

    /// Returns the index file's free pages to the disk, in steps limited by the log. Returns the bytes freed.
    func vacuumFreePages() throws(StoreError) -> Int64 {
        let catalogue = try catalogue()
        let before = try catalogue.pageCount()
        let step = max(budget.checkpointPages / 4, 8)
        var left = try catalogue.freePageCount()
        while left > 0 {
            try catalogue.vacuum(pages: step)
            left -= step
        }
        return try (before - catalogue.pageCount()) * Budget.page
    }
}
