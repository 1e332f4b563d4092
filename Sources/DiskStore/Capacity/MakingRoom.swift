import Glibc
import Logging
import Units

extension Index {
    /// The present usage of the directory and the disk.
    func usage(_ totals: Totals? = nil, beforeWriting bytes: Int64 = 0) throws(StoreError) -> StoreUsage {
        diskUsage.look(at: paths, beforeWriting: bytes, keepingFree: configuration.minimumFreeSpace)
        let catalogue = try catalogue()
        var counted = totals
        if counted == nil { counted = try catalogue.totals() }
        try diskUsage.look(atPagesBeforeWriting: bytes) { () throws(StoreError) in
            try DiskUsage.Pages(
                all: catalogue.pageCount(), free: catalogue.freePageCount(), lists: catalogue.lists.bytes())
        }
        let pages = diskUsage.pages
        let usage = StoreUsage(
            budget: budget, totals: counted ?? Totals(), indexPages: pages.all, freePages: pages.free,
            logBytes: diskUsage.log, asideBytes: asideBytes, listBytes: pages.lists, diskFree: diskUsage.free,
            minimumFreeSpace: configuration.minimumFreeSpace)
        diskUsage.note(shortage: usage.shortage(of: bytes))
        return usage
    }

    // MARK: Making room

    /// Runs `body` in a write transaction in which `bytes` more fit, evicting as necessary.
    ///
    /// `body` adds the bytes to the totals. If another process takes the space first, more is evicted.
    func changeWithRoom<Result>(
        for bytes: Int64, sparesUseful: Bool = false, _ body: (inout Totals) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var hasRetried = false
        while true {
            var missing: Int64 = 0
            do throws(StoreError) {
                let result: Result? = try change { (totals) throws(StoreError) in
                    if totals.hasUncountedFiles == 0 {
                        missing = bytes > 0 ? try usage(totals, beforeWriting: bytes).shortage(of: bytes) : 0
                        if missing <= 0 { return try body(&totals) }
                    }
                    return nil
                }
                if let result { return result }
            } catch  where error.code == .full && !hasRetried {
                // The disk is full although there should be space: others have used it. Evict once, then give up.
                hasRetried = true
                try makeRoom(for: bytes, atLeast: max(bytes, 1 << 20), sparesUseful: sparesUseful)
                continue
            }
            try makeRoom(for: bytes, atLeast: missing, sparesUseful: sparesUseful)
        }
    }

    /// Evicts until `bytes` more fit, and at least `minimum`; throws ``StoreError/Code/full`` or
    /// ``StoreError/Code/held`` if that is impossible, before anything is evicted.
    func makeRoom(for bytes: Int64, atLeast minimum: Int64 = 0, sparesUseful: Bool = false) throws(StoreError) {
        try removeUncountedFiles()
        try releaseDeadRuns()
        diskUsage.forget()
        var room = EvictionPlan(for: bytes, atLeast: minimum, sparesUseful: sparesUseful)
        while true {
            let usage = try usage(beforeWriting: bytes)
            switch room.next(usage) {
            case .done:
                // The file shrinks when the log is copied into it.
                if room.hasShrunkIndex { try catalogue().checkpoint() }
                return
            case .refuse: throw try noRoom(for: bytes, usage).needing(bytes)
            case .countIdlePartials(let needed):
                let counted = try idlePartialBytes(upTo: needed)
                // The others were not counted.
                room.learned(idlePartials: counted >= needed ? usage.totals.partials : counted)
            case .deleteDoomed: room.performed(freed: try deleteDoomed())
            case .dropOldPartials: room.performed(freed: try dropPartials(olderThan: configuration.partialLifetime))
            case .evictExpired(let missing):
                let evicted = try evict(missing) { (catalogue) throws(StoreError) in
                    try catalogue.entries.expired(at: now, limit: budget.evictionBatch)
                }
                room.performed(freed: evicted.freed, isOver: evicted.count == 0)
            case .evict(let missing):
                let partials = try dropPartials(unusedLongerThanEntries: missing)
                if partials > 0 {
                    room.performed(freed: partials, isOver: false)
                    break
                }
                let evicted = try evictOldest(missing)
                // Entries are evicted in batches.
                room.performed(freed: evicted.freed, isOver: evicted.count == 0)
            case .dropPartials(let missing):
                room.performed(freed: try dropPartials(olderThan: nil, atLeast: missing))
            case .shrinkIndex:
                room.shrankIndex(freed: try vacuumFreePages())
            }
            diskUsage.forget()
        }
    }

    /// Throws the error that ``makeRoom(for:atLeast:)`` would throw, without changing anything.
    ///
    /// While there is much more room than needed, only some calls check, because a commit makes its own room.
    func checkRoom(for bytes: Int64) throws(StoreError) {
        roomCredit -= bytes
        if roomCredit >= 0 { return }
        let usage = try usage(beforeWriting: bytes)
        let missing = usage.shortage(of: bytes)
        roomCredit = min(max(0, -missing / 8), 8 << 20)
        if missing <= 0 { return }
        var answer = usage.canFree(missing, idlePartials: nil)
        if case .dependsOnPartials(let needed) = answer {
            answer = usage.canFree(missing, idlePartials: try idlePartialBytes(upTo: needed))
        }
        if answer == .no { throw try noRoom(for: bytes, usage).needing(bytes) }
    }

    /// The error for `bytes` that neither fit nor can be freed.
    private func noRoom(for bytes: Int64, _ usage: StoreUsage) throws(StoreError) -> StoreError {
        let (needed, capacity) = (ByteSize(bytes), ByteSize(budget.capacity))
        let idlePartials = usage.totals.held > 0 ? try idlePartialBytes() : 0
        switch usage.noRoomReason(for: bytes, idlePartials: idlePartials) {
        case .held(let loading):
            var uses = "\(ByteSize(usage.totals.held)) are pinned, or files that runs under way have delivered"
            if loading > 0 { uses += ", and \(ByteSize(loading)) are set aside for downloads" }
            return StoreError(
                .held, "no room for \(needed): of the capacity of \(capacity), \(uses)", path: paths.root)
        case .capacity:
            var error = StoreError(
                .full, "no room for \(needed): the store's capacity is \(capacity), and what it holds is in use",
                path: paths.root)
            error.isAtCapacity = true
            return error
        case .disk:
            let reserve = configuration.minimumFreeSpace
            let rest = reserve > 0 ? ", \(ByteSize(reserve)) of which are left to others" : ""
            return StoreError(
                .full,
                "no room for \(needed): the disk has \(ByteSize(usage.diskFree)) free\(rest); make room on it, or take a "
                    + "folder on another", path: paths.root)
        }
    }

    /// Evicts one batch, the least recently used first: at least `bytes`, if the batch has them. Held bodies remain.
    ///
    /// - Returns: The number of entries, and the bytes freed.
    func evictOldest(_ bytes: Int64) throws(StoreError) -> (count: Int, freed: Int64) {
        try evict(bytes) { (catalogue) throws(StoreError) in
            try catalogue.entries.longestUnused(limit: budget.evictionBatch)
        }
    }

    /// Evicts the first of the entries that `choose` gives: at least `bytes`, if they have them.
    private func evict(
        _ bytes: Int64, _ choose: (Catalogue) throws(StoreError) -> [EvictionCandidate]
    ) throws(StoreError) -> (count: Int, freed: Int64) {
        try flush()
        let victims = try change { (totals) throws(StoreError) in
            let batch = try choose(catalogue())
            let victims = EvictionPlan.victims(batch, atLeast: bytes)
            for victim in victims { _ = try markDeleted(victim.id, &totals) }
            return victims
        }
        let now = now
        for victim in victims { evictions.note(lastUse: victim.lastUse, allocated: victim.allocated, now: now) }
        return (victims.count, try deleteDoomed(victims.map(\.id)))
    }

    // MARK: The doomed

    /// Deletes the files of doomed bodies without readers or live runs. Returns the bytes freed.
    @discardableResult
    func deleteDoomed(_ ids: [Int64]) throws(StoreError) -> Int64 {
        var freed: Int64 = 0
        for batch in batches(of: ids) { freed += try deleteDoomed(batch: batch) }
        return freed
    }

    /// The parts of which each fits a transaction: a larger one would make the log grow beyond its allowance.
    func batches(of ids: [Int64]) -> [[Int64]] { ids.chunks(ofCount: Int(budget.evictionBatch)) }

    private func deleteDoomed(batch: [Int64]) throws(StoreError) -> Int64 {
        var gone: [Int64] = []
        for part in batch.chunks(ofCount: Self.mostDeleting) { gone += try deleteUnlessInUse(part) }
        if gone.isEmpty { return 0 }
        return try change { (totals) throws(StoreError) in
            var freed: Int64 = 0
            let catalogue = try catalogue()
            for id in gone { freed += try catalogue.deletedBodies.delete(id) }
            totals.doomed -= freed
            return freed
        }
    }

    /// Deletes all doomed bodies, in batches.
    func deleteDoomed() throws(StoreError) -> Int64 {
        var freed: Int64 = 0
        var last: Int64?
        repeat {
            let step = try deleteSomeDoomed(after: last)
            freed += step.freed
            last = step.last
        } while last != nil
        return freed
    }

    /// Deletes a batch of doomed bodies, whose numbers begin behind one. Returns the bytes freed and the last number; `nil` if there are no more.
    func deleteSomeDoomed(after last: Int64?) throws(StoreError) -> (freed: Int64, last: Int64?) {
        let batch = try catalogue().deletedBodies.numbers(after: last ?? .min, limit: budget.evictionBatch)
        return (try deleteDoomed(batch), batch.last)
    }
}
