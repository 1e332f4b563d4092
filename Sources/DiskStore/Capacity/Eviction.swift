// Decisions about what goes. They see numbers, no files and no rows.

/// An entry as eviction sees it.
struct UnusedEntry: Equatable, Sendable {
    let id: Int64
    let allocated: Int64
    /// In milliseconds since 1970.
    let lastUse: Int64
}

/// Makes room for a body: what goes, in which order, and when it is enough or too little.
struct MakingRoom {
    enum Action: Equatable {
        /// The bytes fit.
        case done
        /// All that can go is not enough; nothing was evicted for it.
        case refuse
        /// Counts the bytes of partials that nobody uses, for ``learned(idlePartials:)``.
        case countIdlePartials
        /// Deletes the files of bodies that were removed, where nobody reads them any more.
        case deleteDoomed
        /// Drops partials that are past their lifetime.
        case dropOldPartials
        /// Evicts a batch of entries that are of no use any more, or as many of them as have so many bytes.
        case evictExpired(Int64)
        /// Evicts a batch of the longest unused entries, or as many of them as have so many bytes.
        case evict(Int64)
        /// Drops partials that nobody uses, the longest idle first, until so many bytes are free.
        case dropPartials(Int64)
        /// Gives the index's free pages back to the disk.
        case shrinkIndex
    }

    private enum Step { case doomed, oldPartials, expired, entries, partials }

    private let bytes: Int64
    private let minimum: Int64
    private var freed: Int64 = 0
    private var steps: [Step] = [.doomed, .oldPartials, .expired, .entries, .partials]
    private var idlePartials: Int64?
    /// The index was shrunk, and nothing has gone since then.
    private var isShrunk = false
    /// The index was shrunk at all.
    private(set) var hasShrunkIndex = false

    /// - Parameter minimum: Bytes to be freed even if `bytes` fit.
    init(for bytes: Int64, atLeast minimum: Int64 = 0) {
        self.bytes = bytes
        self.minimum = minimum
    }

    func next(_ usage: StoreUsage) -> Action {
        let missing = max(usage.shortage(of: bytes), minimum - freed)
        if missing <= 0 { return .done }
        let countsDoomed = steps.first == .doomed
        switch usage.canFree(missing, countsDoomed: countsDoomed, idlePartials: idlePartials) {
        case .no: return .refuse
        case .dependsOnPartials: return .countIdlePartials
        case .yes: break
        }
        // Bodies alone are not enough: the index has to get shorter as its entries go.
        if !isShrunk, usage.freePages > 0, missing > usage.freeableBodies(countsDoomed: countsDoomed) {
            return .shrinkIndex
        }
        switch steps.first {
        case .doomed: return .deleteDoomed
        case .oldPartials: return .dropOldPartials
        case .expired: return .evictExpired(max(missing, usage.excessOverGoal(with: bytes)))
        // Some more than is missing, so that the next commits need not evict again.
        case .entries: return .evict(max(missing, usage.excessOverGoal(with: bytes)))
        case .partials: return .dropPartials(missing)
        case nil: return .refuse
        }
    }

    mutating func learned(idlePartials: Int64) { self.idlePartials = idlePartials }

    mutating func shrankIndex(freed: Int64) {
        self.freed += freed
        isShrunk = true
        hasShrunkIndex = true
    }

    /// The step that ``next(_:)`` named was performed.
    ///
    /// - Parameter isOver: False when there may be more of the same.
    mutating func performed(freed: Int64, isOver: Bool = true) {
        self.freed += freed
        isShrunk = false
        idlePartials = nil
        if isOver, !steps.isEmpty { steps.removeFirst() }
    }

    /// The first of a batch, the longest unused first, that have so many bytes together, or all of them.
    static func victims(_ batch: [UnusedEntry], atLeast bytes: Int64) -> ArraySlice<UnusedEntry> {
        var sum: Int64 = 0
        let end = batch.firstIndex { entry in
            defer { sum += entry.allocated }
            return sum >= bytes
        }
        return batch[..<(end ?? batch.endIndex)]
    }
}

/// Chooses the entries that a pruning removes, from all of them in order of use.
struct PruneSelection {
    /// Bytes that have to go.
    let excess: Int64
    /// Entries that were last used before this go in any case.
    let before: Int64?
    private(set) var ids: [Int64] = []
    private(set) var bytes: Int64 = 0

    init(excess: Int64, before: Int64?) {
        self.excess = excess
        self.before = before
    }

    /// Takes the next entry, the longest unused first.
    ///
    /// - Returns: False when no later one is of interest.
    mutating func consider(_ entry: UnusedEntry) -> Bool {
        let isOld = before.map { entry.lastUse < $0 } ?? false
        // A clock that stepped back leaves old dates behind newer ones, so all are looked at.
        guard isOld || bytes < excess else { return before != nil }
        ids.append(entry.id)
        bytes += entry.allocated
        return true
    }
}
