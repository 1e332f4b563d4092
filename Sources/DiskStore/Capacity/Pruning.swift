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

    mutating func add(_ other: PruneResult) {
        entries += other.entries
        bytes += other.bytes
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
        let victims = try victims(to: target, before: before, sparingPins: sparingPins)
        if dryRun { return PruneResult(entries: victims.ids.count, bytes: victims.bytes) }
        var removed = try removeInSteps(victims.ids)
        if let target { removed.bytes += try dropPartials(to: target) }
        return removed
    }

    /// The least recently used entries: as many as exceed the target, and all last used before a date. An entry that is used during the call is
    /// not among them.
    private func victims(to target: Int64?, before: Int64?, sparingPins: Bool) throws(StoreError) -> PruneSelection {
        let (excess, end) = try withIndex { (index) throws(StoreError) in
            try index.flush()
            let totals = try index.readTotals()
            return (target.map { totals.bodies + totals.partials - max(0, $0) } ?? 0, totals.nextSequence)
        }
        var selection = PruneSelection(excess: excess, before: before)
        try inSteps { (index, last: Int64?) throws(StoreError) in
            let step = try index.catalogue().entries.byUse(
                after: last ?? .min, before: end, sparingPins: sparingPins, limit: Self.readingStep)
            for row in step { if !selection.consider(row.entry) { return nil } }
            return step.last?.place
        }
        return selection
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
        // Those that begin meanwhile have higher numbers.
        let end = try withIndex { (index) throws(StoreError) in try index.readTotals().nextNumber << 8 }
        if what == .everything {
            try inSteps { (index, last: Int64?) throws(StoreError) in
                let ids = try index.catalogue().entries.numbers(
                    after: last ?? .min, before: end, sparingPins: sparingPins, limit: Self.removalStep)
                result.add(try index.removeCounted(ids))
                return ids.last
            }
        }
        try inSteps { (index, last: Int64?) throws(StoreError) in
            let row = try index.catalogue().partials.partials(after: last ?? .min, limit: 1).first
            guard let row, row.id < end else { return nil }
            let freed = try index.dropIfIdle(row)
            if freed == 0, what == .everything { try index.disown(row) }
            result.bytes += freed
            return row.id
        }
        try releaseDeadRuns()
        _ = try deleteDoomed()
        try shrink()
        return result
    }

    /// The number of entries that a step reads.
    private static let readingStep: Int64 = 1000
    /// The number of entries or partials that a step removes.
    private static let removalStep: Int64 = 100

    /// Calls a function until it returns `nil`, with turns for other callers in between.
    ///
    /// - Parameter step: Its argument is the place that it returned last, after which it continues; `nil` in the first call.
    private func inSteps<Place: Sendable>(
        _ step: (Index, _ last: Place?) throws(StoreError) -> Place?
    ) throws(StoreError) {
        var last: Place?
        repeat { last = try withIndex { (index) throws(StoreError) in try step(index, last) } } while last != nil
    }

    // Each of these works in steps between which other callers get their turn.

    /// Removes entries.
    func removeInSteps(_ ids: [Int64]) throws(StoreError) -> PruneResult {
        var result = PruneResult.nothing
        for step in ids.chunks(ofCount: Int(Self.removalStep)) {
            result.add(try withIndex { (index) throws(StoreError) in try index.removeCounted(step) })
        }
        return result
    }

    /// Releases the holds of runs that have ended without releasing them.
    func releaseDeadRuns() throws(StoreError) {
        try inSteps { (index, last: Int64?) throws(StoreError) in try index.releaseSomeOfDeadRun(after: last ?? 0) }
    }

    /// Deletes the doomed bodies without readers or live runs. Returns the bytes freed.
    func deleteDoomed() throws(StoreError) -> Int64 {
        var freed: Int64 = 0
        try inSteps { (index, last: Int64?) throws(StoreError) in
            let step = try index.deleteSomeDoomed(after: last)
            freed += step.freed
            return step.last
        }
        return freed
    }

    /// Drops idle partials beyond their lifetime. Returns the bytes freed.
    func dropOldPartials() throws(StoreError) -> Int64 {
        try dropPartials(unusedSince: configuration.clock().milliseconds - configuration.partialLifetime.milliseconds)
    }

    /// Drops idle partials last used before a time, the longest idle first, until bodies and partials have at most a target. Returns the bytes freed.
    private func dropPartials(unusedSince time: Int64 = .max, to target: Int64? = nil) throws(StoreError) -> Int64 {
        var freed: Int64 = 0
        try inSteps { (index, last: PartialRow?) throws(StoreError) in
            var excess = Int64.max
            if let target {
                let totals = try index.readTotals()
                excess = totals.bodies + totals.partials - max(0, target)
            }
            let step = try index.dropSomePartials(
                unusedSince: time, after: last, limit: Self.removalStep, atLeast: excess)
            freed += step.freed
            return step.last
        }
        return freed
    }

    /// Returns the index file's free pages to the disk if they are many.
    func shrink() throws(StoreError) {
        var left = try withIndex { (index) throws(StoreError) -> Int64 in
            let catalogue = try index.catalogue()
            let free = try catalogue.freePageCount()
            guard free > 64, try free * 4 > catalogue.pageCount() else { return 0 }
            return free
        }
        while left > 0 { left -= try withIndex { (index) throws(StoreError) in try index.vacuumSomePages() } }
    }
}

extension Index {
    /// Removes entries, also on a full disk.
    func removeCounted(_ ids: [Int64]) throws(StoreError) -> PruneResult {
        var result = PruneResult.nothing
        for batch in batches(of: ids) { result.add(try removeCounted(batch: batch)) }
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

    /// Returns the index file's free pages to the disk, in steps limited by the log. Returns the bytes freed.
    func vacuumFreePages() throws(StoreError) -> Int64 {
        let catalogue = try catalogue()
        let before = try catalogue.pageCount()
        var left = try catalogue.freePageCount()
        while left > 0 { left -= try vacuumSomePages() }
        return try (before - catalogue.pageCount()) * Budget.page
    }

    /// Returns some of the index file's free pages to the disk, and the greatest number of them.
    func vacuumSomePages() throws(StoreError) -> Int64 {
        let step = max(budget.checkpointPages / 4, 8)
        try catalogue().vacuum(pages: step)
        return step
    }
}
