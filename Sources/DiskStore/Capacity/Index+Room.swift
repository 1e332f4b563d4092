import Glibc
import Logging
import Units

extension Index {
    /// All that counts now.
    func usage(_ totals: Totals? = nil, beforeWriting bytes: Int64 = 0) throws(StoreError) -> StoreUsage {
        diskUsage.look(at: paths, beforeWriting: bytes, keepingFree: configuration.minimumFreeSpace)
        let catalogue = try catalogue()
        var counted = totals
        if counted == nil { counted = try catalogue.totals() }
        return try StoreUsage(
            budget: budget, totals: counted ?? Totals(), indexPages: catalogue.pageCount(),
            freePages: catalogue.freePageCount(), logBytes: diskUsage.log, asideBytes: asideBytes,
            diskFree: diskUsage.free, minimumFreeSpace: configuration.minimumFreeSpace)
    }

    // MARK: Making room

    /// Runs `body` in a write transaction in which `bytes` more fit, evicting before it what must go.
    ///
    /// `body` takes the bytes into the totals. Another process may take the room first; then more is evicted.
    func changeWithRoom<Result>(
        for bytes: Int64, _ body: (inout Totals) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var hasRetried = false
        while true {
            var missing: Int64 = 0
            do throws(StoreError) {
                let result: Result? = try change { (totals) throws(StoreError) in
                    if totals.hasStrangers == 0 {
                        missing = bytes > 0 ? try usage(totals, beforeWriting: bytes).shortage(of: bytes) : 0
                        if missing <= 0 { return try body(&totals) }
                    }
                    return nil
                }
                if let result { return result }
            } catch  where error.code == .full && !hasRetried {
                // The disk is full although there should be room: someone else filled it. Evict once, then give up.
                hasRetried = true
                try makeRoom(for: bytes, atLeast: max(bytes, 1 << 20))
                continue
            }
            try makeRoom(for: bytes, atLeast: missing)
        }
    }

    /// Evicts until `bytes` more fit, and at least `minimum`; throws ``StoreError/Code/full`` or ``StoreError/Code/held`` when that
    /// cannot be, before anything was evicted for it.
    func makeRoom(for bytes: Int64, atLeast minimum: Int64 = 0) throws(StoreError) {
        try clearStrangers()
        try releaseDeadRuns()
        diskUsage.forget()
        var room = MakingRoom(for: bytes, atLeast: minimum)
        while true {
            let usage = try usage(beforeWriting: bytes)
            switch room.next(usage) {
            case .done:
                // The file gets shorter when the log is copied into it.
                if room.hasShrunkIndex { try catalogue().checkpoint() }
                return
            case .refuse: throw try noRoom(for: bytes, usage)
            case .countIdlePartials: room.learned(idlePartials: try idlePartialBytes())
            case .deleteDoomed: room.performed(freed: try deleteDoomed())
            case .dropOldPartials: room.performed(freed: try dropPartials(olderThan: configuration.partialLifetime))
            case .evictExpired(let missing):
                let evicted = try evict(missing) { (catalogue) throws(StoreError) in
                    try catalogue.expired(at: now, limit: budget.evictionBatch)
                }
                room.performed(freed: evicted.freed, isOver: evicted.count == 0)
            case .evict(let missing):
                let evicted = try evictOldest(missing)
                // They go in batches.
                room.performed(freed: evicted.freed, isOver: evicted.count == 0)
            case .dropPartials(let missing):
                room.performed(freed: try dropPartials(olderThan: nil, atLeast: missing))
            case .shrinkIndex:
                room.shrankIndex(freed: try giveBackFreePages())
            }
            diskUsage.forget()
        }
    }

    /// Throws what ``makeRoom(for:atLeast:)`` would throw, and changes nothing.
    func checkRoom(for bytes: Int64) throws(StoreError) {
        let usage = try usage(beforeWriting: bytes)
        let missing = usage.shortage(of: bytes)
        if missing <= 0 { return }
        var answer = usage.canFree(missing, idlePartials: nil)
        if answer == .dependsOnPartials { answer = usage.canFree(missing, idlePartials: try idlePartialBytes()) }
        if answer == .no { throw try noRoom(for: bytes, usage) }
    }

    /// The error for `bytes` that neither fit nor can be made room for.
    private func noRoom(for bytes: Int64, _ usage: StoreUsage) throws(StoreError) -> StoreError {
        let (needed, capacity) = (ByteSize(bytes), ByteSize(budget.capacity))
        switch usage.refusal(of: bytes, idlePartials: try idlePartialBytes()) {
        case .held(let loading):
            var uses = "\(ByteSize(usage.totals.held)) are files that runs under way have delivered"
            if loading > 0 { uses += ", and \(ByteSize(loading)) are set aside for downloads" }
            return StoreError(
                .held, "no room for \(needed): of the capacity of \(capacity), \(uses)", path: paths.root)
        case .capacity:
            return StoreError(
                .full,
                "no room for \(needed): the store's capacity is \(capacity), and what it holds is in use; give it more",
                path: paths.root)
        case .disk:
            let reserve = configuration.minimumFreeSpace
            let rest = reserve > 0 ? ", \(ByteSize(reserve)) of which are left to others" : ""
            return StoreError(
                .full,
                "no room for \(needed): the disk has \(ByteSize(usage.diskFree)) free\(rest); make room on it, or take a "
                    + "folder on another", path: paths.root)
        }
    }

    /// Evicts one batch, the longest unused first: at least `bytes`, if the batch has them. What a run holds stays.
    ///
    /// - Returns: how many entries, and what became free.
    func evictOldest(_ bytes: Int64) throws(StoreError) -> (count: Int, freed: Int64) {
        try evict(bytes) { (catalogue) throws(StoreError) in
            try catalogue.longestUnused(limit: budget.evictionBatch)
        }
    }

    /// Evicts the first of the entries that `choose` gives: at least `bytes`, if they have them.
    private func evict(
        _ bytes: Int64, _ choose: (Catalogue) throws(StoreError) -> [UnusedEntry]
    ) throws(StoreError) -> (count: Int, freed: Int64) {
        try flush()
        let victims = try change { (totals) throws(StoreError) in
            let batch = try choose(catalogue())
            let victims = MakingRoom.victims(batch, atLeast: bytes)
            for victim in victims { _ = try doom(victim.id, &totals) }
            return victims
        }
        let now = now
        for victim in victims { evictions.note(lastUse: victim.lastUse, allocated: victim.allocated, now: now) }
        return (victims.count, try deleteDoomed(victims.map(\.id)))
    }

    // MARK: The doomed

    /// Deletes the files of doomed bodies that nobody reads and no run holds. Returns the bytes that became free.
    @discardableResult
    func deleteDoomed(_ ids: [Int64]) throws(StoreError) -> Int64 {
        if ids.isEmpty { return 0 }
        var gone: [Int64] = []
        for id in ids where try deleteUnlessInUse(id) { gone.append(id) }
        if gone.isEmpty { return 0 }
        return try change { (totals) throws(StoreError) in
            var freed: Int64 = 0
            let catalogue = try catalogue()
            for id in gone { freed += try catalogue.deleteDoomed(id) }
            totals.doomed -= freed
            return freed
        }
    }

    /// All of the doomed, in batches.
    func deleteDoomed() throws(StoreError) -> Int64 {
        var freed: Int64 = 0
        var last = Int64.min
        while true {
            let batch = try catalogue().doomed(after: last, limit: budget.evictionBatch)
            guard let end = batch.last else { return freed }
            freed += try deleteDoomed(batch)
            last = end
        }
    }

    /// Deletes the file of a body without an entry. False if a reader or a run that lives holds it.
    func deleteUnlessInUse(_ id: Int64) throws(StoreError) -> Bool {
        var failure: StoreError?
        let isDeleted = deleteUnlessRead(paths.body(id)) {
            // Looked for under the exclusive lock: whoever holds a body has it open under a shared one while the row is written.
            do throws(StoreError) { return try isHeld(id) } catch {
                failure = error
                return true
            }
        }
        if let failure { throw failure }
        return isDeleted
    }

    /// Unlinks a body while holding its exclusive lock. False if a reader holds it, or if it cannot be deleted.
    ///
    /// A reader that opens it now finds the lock taken or the link gone, and takes both for a miss.
    ///
    /// - Parameter isHeld: asked under the lock; what is held stays.
    func deleteUnlessRead(_ path: String, isHeld: () -> Bool = { false }) -> Bool {
        do throws(StoreError) {
            let file = try File(path, O_RDONLY)
            // The lock must be held until the file is gone.
            return withExtendedLifetime(file) {
                file.tryLock(exclusive: true) && !isHeld() && unlink(path) == 0
            }
        } catch {
            if error.errno == ENOENT { return true }
            // Not ours to read, or not a file: then no reader of ours has it either.
            return error.errno != EMFILE && error.errno != ENFILE && !isHeld() && unlink(path) == 0
        }
    }
}
