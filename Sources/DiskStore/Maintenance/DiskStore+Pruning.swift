/// What was removed, or would be.
public struct PruneResult: Sendable, Equatable {
    public var entries: Int
    /// What they occupied. The disk has it back when nobody reads them any more.
    public var bytes: Int64

    public static let nothing = PruneResult(entries: 0, bytes: 0)

    public init(entries: Int, bytes: Int64) {
        self.entries = entries
        self.bytes = bytes
    }
}

extension DiskStore {
    /// Removes the longest unused entries, and when that is not enough for the target, partials that are not in use.
    ///
    /// - Parameters:
    ///   - target: until bodies and partials together take at most this many bytes; nil: no such limit.
    ///   - age: those not used for so long, whatever they take; nil: none for their age. By the dates that people see.
    ///   - dryRun: only says what would go.
    ///   - sparingPins: pinned entries stay, and count towards the target.
    public func prune(
        to target: Int64? = nil, olderThan age: Duration? = nil, dryRun: Bool = false, sparingPins: Bool = true
    ) throws(StoreError) -> PruneResult {
        let before = age.map { Index.milliseconds(configuration.clock()) - $0.components.seconds * 1000 }
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

    /// What ``clear(_:)`` removes.
    public enum Clearing: Sendable {
        /// All entries and all partials that are not in use.
        case everything
        /// Only partials that are not in use.
        case partials
    }

    /// Empties the store, and invalidates everything if everything goes. Bodies that are being read stay readable, and go when
    /// their readers have gone.
    ///
    /// - Parameter sparingPins: Pinned entries stay as they are.
    @discardableResult
    public func clear(_ what: Clearing = .everything, sparingPins: Bool = false) throws(StoreError) -> PruneResult {
        guard what == .everything else { return try clearFiles(.partials) }
        return try invalidating(.everything) { () throws(StoreError) in
            try clearFiles(.everything, sparingPins: sparingPins)
        }
    }

    private func clearFiles(_ what: Clearing, sparingPins: Bool = false) throws(StoreError) -> PruneResult {
        var result = PruneResult.nothing
        if what == .everything {
            let ids = try withIndex { (index) throws(StoreError) in
                try index.victims(excess: .max, before: nil, sparingPins: sparingPins).ids
            }
            result = try removeInSteps(ids)
        }
        let rows = try withIndex { (index) throws(StoreError) in try index.catalogue().partials() }
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

    private func removeInSteps(_ ids: [Int64]) throws(StoreError) -> PruneResult {
        var result = PruneResult.nothing
        var start = 0
        while start < ids.count {
            let step = Array(ids[start..<min(ids.count, start + 100)])
            start += step.count
            let removed = try withIndex { (index) throws(StoreError) in
                do throws(StoreError) {
                    return try index.removeCounted(step)
                } catch  where error.code == .full {
                    // Not even that can be written down. So the files go first: a row without its file is a miss.
                    for id in step { _ = try index.deleteUnlessInUse(id) }
                    return try index.removeCounted(step)
                }
            }
            result.entries += removed.entries
            result.bytes += removed.bytes
        }
        return result
    }
}

extension Index {
    /// The longest unused entries: as many as occupy `excess` bytes, and all last used before a date.
    func victims(excess: Int64, before: Int64?, sparingPins: Bool) throws(StoreError) -> (
        ids: [Int64], sum: PruneResult
    ) {
        var selection = PruneSelection(excess: excess, before: before)
        try catalogue().forEachByUse(sparingPins: sparingPins) { selection.consider($0) }
        return (selection.ids, PruneResult(entries: selection.ids.count, bytes: selection.bytes))
    }

    func removeCounted(_ ids: [Int64]) throws(StoreError) -> PruneResult {
        let (removed, bytes) = try change { (totals) throws(StoreError) in
            let before = totals.bodies
            var removed: [Int64] = []
            for id in ids where try doom(id, &totals) { removed.append(id) }
            return (removed, before - totals.bodies)
        }
        try deleteDoomed(removed)
        return PruneResult(entries: removed.count, bytes: bytes)
    }

    /// Gives the index file's free pages back to the disk when they are many.
    func shrink() throws(StoreError) {
        let catalogue = try catalogue()
        let free = try catalogue.freePageCount()
        if free > 64, try free * 4 > catalogue.pageCount() { _ = try giveBackFreePages() }
    }

    /// Gives the index file's free pages back to the disk, in steps that the log has room for. Returns what became free.
    func giveBackFreePages() throws(StoreError) -> Int64 {
        let catalogue = try catalogue()
        let before = try catalogue.pageCount()
        let step = max(budget.checkpointPages / 4, 8)
        var left = try catalogue.freePageCount()
        while left > 0 {
            try catalogue.giveBack(pages: step)
            left -= step
        }
        return try (before - catalogue.pageCount()) * Budget.page
    }
}
