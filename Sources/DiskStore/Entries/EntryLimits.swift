/// The limits on single entries and their number. They use only numbers, without access to files or rows.
struct EntryLimits: Equatable, Sendable {
    /// The greatest age of an entry, in milliseconds; `nil` for no limit.
    var maxAge: Int64?
    var maxSize: Int64?
    var maxEntries: Int64?

    init(maxAge: Int64? = nil, maxSize: Int64? = nil, maxEntries: Int64? = nil) {
        self.maxAge = maxAge
        self.maxSize = maxSize
        self.maxEntries = maxEntries
    }

    init(_ configuration: StoreConfiguration) {
        maxAge = configuration.maxAge.map { max(0, $0.milliseconds) }
        maxSize = configuration.maxEntrySize
        maxEntries = configuration.maxEntries.map { Int64(max(1, $0)) }
    }

    /// Returns the time at which an entry is no longer useful; `nil` for never.
    func expiry(stored: Int64, expires: Int64?) -> Int64? {
        guard let maxAge else { return expires }
        return min(stored + maxAge, expires ?? .max)
    }

    /// Returns true if an entry is too old to be found. An entry with a date in the future, after the clock was set back, is not too old.
    func isOver(stored: Int64, now: Int64) -> Bool { maxAge.map { now - stored > $0 } ?? false }

    /// Returns the number of entries that must be removed before one more is stored.
    func excess(of entries: Int64) -> Int64 { maxEntries.map { max(0, entries + 1 - $0) } ?? 0 }

    /// Returns the entries of a step that are too old, and whether later ones may be. The steps go through all entries in the order of their
    /// numbers.
    ///
    /// Numbers are issued when a download begins, so dates are only nearly in order. The walk therefore ends after a whole step of entries that are
    /// not too old.
    func tooOld(_ step: [(id: Int64, created: Int64)], now: Int64) -> (ids: [Int64], goesOn: Bool) {
        let ids = step.filter { isOver(stored: $0.created, now: now) }.map(\.id)
        return (ids, !ids.isEmpty)
    }
}

extension Index {
    /// Marks for deletion the entries that must be removed before one more is stored: first expired ones, then the least recently used.
    /// Must be called inside a transaction.
    func markExcessEntriesDeleted(_ totals: inout Totals) throws(StoreError) -> [Int64] {
        let excess = min(limits.excess(of: totals.entries), budget.evictionBatch)
        guard excess > 0 else { return [] }
        let catalogue = try catalogue()
        var victims = try catalogue.entries.expired(at: now, limit: excess)
        if victims.count < excess {
            let chosen = Set(victims.map(\.id))
            victims += try catalogue.entries.longestUnused(limit: excess).filter { !chosen.contains($0.id) }
        }
        let going = victims.prefix(Int(excess))
        for victim in going {
            _ = try markDeleted(victim.id, &totals)
            evictions.note(lastUse: victim.lastUse, allocated: victim.allocated, now: now)
        }
        return going.map(\.id)
    }

    /// Removes some of the entries that are too old, from a number on. Pinned ones stay.
    ///
    /// - Returns: The number to continue after; `nil` at the end.
    func removeTooOld(after last: Int64) throws(StoreError) -> Int64? {
        guard limits.maxAge != nil else { return nil }
        let step = try catalogue().entries.dates(after: last, limit: 1024)
        let (ids, goesOn) = limits.tooOld(step, now: now)
        if !ids.isEmpty { _ = try removeCounted(ids) }
        return goesOn ? step.last?.id : nil
    }

    /// The entries that may still be found. A pinned one is never too old.
    func withoutTooOld(_ entries: [StoredEntry]) throws(StoreError) -> [StoredEntry] {
        let limits = limits
        guard limits.maxAge != nil else { return entries }
        let now = now
        var found: [StoredEntry] = []
        for entry in entries {
            let isOver = limits.isOver(stored: entry.created.milliseconds, now: now)
            if isOver, try !catalogue().entries.isPinned(entry.id) { continue }
            found.append(entry)
        }
        return found
    }
}
