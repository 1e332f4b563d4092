extension Index {
    /// Marks for deletion the entries that must be removed before one more is stored: first expired ones, then the least recently used.
    /// Must be called inside a transaction.
    func doomExcessEntries(_ totals: inout Totals) throws(StoreError) -> [Int64] {
        let excess = min(limits.excess(of: totals.entries), budget.evictionBatch)
        guard excess > 0 else { return [] }
        let catalogue = try catalogue()
        var victims = try catalogue.expired(at: now, limit: excess)
        if victims.count < excess {
            let chosen = Set(victims.map(\.id))
            victims += try catalogue.longestUnused(limit: excess).filter { !chosen.contains($0.id) }
        }
        let going = victims.prefix(Int(excess))
        for victim in going {
            _ = try doom(victim.id, &totals)
            evictions.note(lastUse: victim.lastUse, allocated: victim.allocated, now: now)
        }
        return going.map(\.id)
    }

    /// Removes some of the entries that are too old, from a number on.
    ///
    /// - Returns: where to go on; nil at the end.
    func removeTooOld(after last: Int64) throws(StoreError) -> Int64? {
        guard limits.maxAge != nil else { return nil }
        let step = try catalogue().dates(after: last, limit: 1024)
        let (ids, goesOn) = limits.tooOld(step, now: now)
        if !ids.isEmpty { _ = try removeCounted(ids) }
        return goesOn ? step.last?.id : nil
    }

    /// The entries that may still be found.
    func withoutTooOld(_ entries: [StoredEntry]) -> [StoredEntry] {
        let limits = limits
        guard limits.maxAge != nil else { return entries }
        let now = now
        return entries.filter { !limits.isOver(stored: $0.created.milliseconds, now: now) }
    }
}
