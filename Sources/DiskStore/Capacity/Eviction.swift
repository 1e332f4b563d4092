// Eviction decisions. They use numbers only, no files and no rows.

/// An entry as a candidate for eviction.
struct EvictionCandidate: Equatable, Sendable {
    let id: Int64
    let allocated: Int64
    /// The time of last use, in milliseconds since 1970.
    let lastUse: Int64
}

/// The steps that make space for a body: their order, and the decision when they suffice or fail.
struct EvictionPlan {
    enum Action: Equatable {
        /// The bytes fit.
        case done
        /// Everything removable would not suffice; nothing was evicted.
        case refuse
        /// Counts the bytes of idle partials, up to the given number of bytes, for ``learned(idlePartials:)``.
        case countIdlePartials(Int64)
        /// Deletes the files of removed bodies that have no readers any more.
        case deleteDoomed
        /// Drops partials beyond their lifetime.
        case dropOldPartials
        /// Evicts a batch of entries that are no longer useful, up to the given number of bytes.
        case evictExpired(Int64)
        /// Evicts a batch of the least recently used entries, or as many of them as have this number of bytes.
        case evict(Int64)
        /// Drops idle partials, the longest idle first, until this number of bytes is free.
        case dropPartials(Int64)
        /// Returns the index's free pages to the disk.
        case shrinkIndex
    }

    private enum Step { case doomed, oldPartials, expired, entries, partials }

    private let bytes: Int64
    private let minimum: Int64
    private var freed: Int64 = 0
    private var steps: [Step]
    private var idlePartials: Int64?
    /// True if the index was shrunk, and nothing has been removed since.
    private var isShrunk = false
    /// True if the index was shrunk at all.
    private(set) var hasShrunkIndex = false

    /// - Parameters:
    ///   - minimum: The number of bytes to free even if `bytes` fit.
    ///   - sparesUseful: True to remove only entries that are no longer useful.
    init(for bytes: Int64, atLeast minimum: Int64 = 0, sparesUseful: Bool = false) {
        self.bytes = bytes
        self.minimum = minimum
        steps = [.doomed, .oldPartials, .expired] + (sparesUseful ? [] : [.entries, .partials])
    }

    func next(_ usage: StoreUsage) -> Action {
        let missing = max(usage.shortage(of: bytes), minimum - freed)
        if missing <= 0 { return .done }
        let countsDoomed = steps.first == .doomed
        switch usage.canFree(missing, countsDoomed: countsDoomed, idlePartials: idlePartials) {
        case .no: return .refuse
        case .dependsOnPartials(let needed): return .countIdlePartials(needed)
        case .yes: break
        }
        // Bodies alone do not suffice, so the index must also shrink by the pages of its removed entries.
        if !isShrunk, usage.freePages > 0, missing > usage.freeableBodies(countsDoomed: countsDoomed) {
            return .shrinkIndex
        }
        switch steps.first {
        case .doomed: return .deleteDoomed
        case .oldPartials: return .dropOldPartials
        case .expired: return .evictExpired(max(missing, usage.excessOverGoal(with: bytes)))
        // More than is missing, so that the next commits need not evict again.
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

    /// Records that the step returned by ``next(_:)`` was performed.
    ///
    /// - Parameter isOver: False if there may be more of the same kind.
    mutating func performed(freed: Int64, isOver: Bool = true) {
        self.freed += freed
        isShrunk = false
        idlePartials = nil
        if isOver, !steps.isEmpty { steps.removeFirst() }
    }

    /// The first entries of a batch, least recently used first, that have this number of bytes together, or all of
    /// them.
    static func victims(_ batch: [EvictionCandidate], atLeast bytes: Int64) -> ArraySlice<EvictionCandidate> {
        var sum: Int64 = 0
        let end = batch.firstIndex { entry in
            defer { sum += entry.allocated }
            return sum >= bytes
        }
        return batch[..<(end ?? batch.endIndex)]
    }
}

/// Selects the entries that a pruning removes, from all of them in order of use.
struct PruneSelection {
    /// The number of bytes to remove.
    let excess: Int64
    /// The date before which entries last used are removed in any case.
    let before: Int64?
    private(set) var ids: [Int64] = []
    private(set) var bytes: Int64 = 0

    init(excess: Int64, before: Int64?) {
        self.excess = excess
        self.before = before
    }

    /// Considers the next entry, the least recently used first.
    ///
    /// - Returns: False if no later one can be selected.
    mutating func consider(_ entry: EvictionCandidate) -> Bool {
        let isOld = before.map { entry.lastUse < $0 } ?? false
        // A clock that was set back leaves old dates behind newer ones, so all entries are considered.
        guard isOld || bytes < excess else { return before != nil }
        ids.append(entry.id)
        bytes += entry.allocated
        return true
    }
}
