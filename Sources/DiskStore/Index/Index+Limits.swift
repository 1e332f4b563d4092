extension Index {
    /// Dooms what must go before one more entry is stored: what is expired, then the longest unused. Inside a transaction.
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

extension DiskStore {
    /// Removes all entries for other versions of the application than this one, in steps between which other callers get their turn.
    ///
    /// - Returns: How many there were.
    @discardableResult
    package func removeVersions(except version: String) throws(StoreError) -> Int {
        try removeInSteps { (index) throws(StoreError) in
            try index.catalogue().entries(ofOtherVersionsThan: version, limit: 100)
        }
    }

    /// Removes all values of a format's type in other versions of it, in steps between which other callers get their turn.
    ///
    /// - Returns: How many there were.
    @discardableResult
    package func removeFormats(except format: ValueFormat) throws(StoreError) -> Int {
        try removeInSteps { (index) throws(StoreError) in
            try index.catalogue().entries(ofOtherFormatsThan: format, limit: 100)
        }
    }

    /// Removes the entries that `next` returns until there are none.
    private func removeInSteps(_ next: (Index) throws(StoreError) -> [Int64]) throws(StoreError) -> Int {
        var count = 0
        while true {
            let removed = try withIndex { (index) throws(StoreError) in
                let ids = try next(index)
                return ids.isEmpty ? 0 : try index.removeCounted(ids).entries
            }
            if removed == 0 { return count }
            count += removed
        }
    }
}
