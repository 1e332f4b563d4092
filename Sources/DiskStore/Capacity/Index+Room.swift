import Glibc
import Logging
import Units

extension Index {
    // MARK: What is used

    /// All that the directory takes or may take, as `du` would count it.
    func usage(_ totals: Totals) throws(StoreError) -> Int64 {
        try totals.counted + number(.pageCount) * Budget.page + max(surroundings.log, budget.logAllowance)
            + budget.fixedAllowance + asideBytes
    }

    /// What the index file may grow by before the next look at the disk.
    private static let indexGrowth: Int64 = 256 << 10

    /// The largest body that could be stored if nothing else were.
    func largestBody() throws(StoreError) -> Int64 {
        let overhead = try readTotals().folders + asideBytes
        return try budget.largestBody(indexPages: number(.pageCount)) - overhead
    }

    /// How many bytes must go before `bytes` more fit: into the capacity, and beside the space that stays free.
    private func shortage(of bytes: Int64, _ totals: Totals) throws(StoreError) -> Int64 {
        surroundings.look(at: paths, beforeWriting: bytes, keepingFree: configuration.minimumFreeSpace)
        let overCapacity = try usage(totals) + bytes - budget.capacity
        // Without room for the log nothing could be committed any more, and nothing evicted.
        let free = max(configuration.minimumFreeSpace, budget.logAllowance - surroundings.log + Self.indexGrowth)
        return max(overCapacity, bytes + free - surroundings.free)
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
                        missing = bytes > 0 ? try shortage(of: bytes, totals) : 0
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
        surroundings.forget()
        var freed: Int64 = 0
        var steps = Room.steps
        while true {
            let totals = try readTotals()
            let overGoal = try usage(totals) + bytes - budget.goal
            let shortage = try shortage(of: bytes, totals)
            let missing = max(shortage, minimum - freed)
            if missing <= 0 { return }
            guard try canFree(missing, totals, steps), let step = steps.first else {
                throw try noRoom(for: bytes, totals)
            }
            var isOver = true
            switch step {
            case .doomed: freed += try deleteDoomed()
            case .oldPartials: freed += try dropPartials(olderThan: configuration.partialLifetime)
            case .entries:
                // Some more than is missing, so that the next commits need not evict again.
                let evicted = try evictOldest(max(missing, overGoal))
                freed += evicted.freed
                // They go in batches.
                isOver = evicted.count == 0
            case .partials: freed += try dropPartials(olderThan: nil, atLeast: missing)
            }
            surroundings.forget()
            if isOver { steps.removeFirst() }
        }
    }

    /// Throws what ``makeRoom(for:atLeast:)`` would throw, and changes nothing.
    func checkRoom(for bytes: Int64) throws(StoreError) {
        let totals = try readTotals()
        let missing = try shortage(of: bytes, totals)
        if missing > 0, try !canFree(missing, totals, Room.steps) { throw try noRoom(for: bytes, totals) }
    }

    /// Whether the steps that are left can free so much. When all of it would not be enough, nothing goes for nothing.
    private func canFree(_ bytes: Int64, _ totals: Totals, _ steps: [Room]) throws(StoreError) -> Bool {
        // Of the doomed, those are left that somebody reads.
        let doomed = steps.contains(.doomed) ? totals.doomed : 0
        let bodies = max(0, totals.bodies + doomed - totals.held)
        if bytes <= bodies { return true }
        guard bytes <= bodies + totals.partials else { return false }
        return bytes <= bodies + (try idlePartialBytes())
    }

    /// The error for `bytes` that neither fit nor can be made room for.
    private func noRoom(for bytes: Int64, _ totals: Totals) throws(StoreError) -> StoreError {
        let loading = totals.partials - (try idlePartialBytes())
        let overCapacity = try usage(totals) + bytes - budget.capacity
        guard totals.held > 0, overCapacity > 0 else { return full(bytes) }
        var uses = "\(ByteSize(totals.held)) are files that runs under way have delivered"
        if loading > 0 { uses += ", and \(ByteSize(loading)) are set aside for downloads" }
        return StoreError(
            .held, "no room for \(ByteSize(bytes)): of the capacity of \(ByteSize(budget.capacity)), \(uses)",
            path: paths.root)
    }

    private func full(_ bytes: Int64) -> StoreError {
        let free = FileStatus.freeSpace(at: paths.root) ?? 0
        let reserve = configuration.minimumFreeSpace
        guard free - reserve < bytes + budget.logAllowance + Self.indexGrowth else {
            return StoreError(
                .full,
                "no room for \(ByteSize(bytes)): the store's capacity is \(ByteSize(budget.capacity)), and what it "
                    + "holds is in use; give it more", path: paths.root)
        }
        let rest = reserve > 0 ? ", \(ByteSize(reserve)) of which are left to others" : ""
        return StoreError(
            .full,
            "no room for \(ByteSize(bytes)): the disk has \(ByteSize(free)) free\(rest); make room on it, or take a "
                + "folder on another", path: paths.root)
    }

    /// What goes, in this order.
    private enum Room {
        case doomed, oldPartials, entries, partials

        static let steps: [Room] = [.doomed, .oldPartials, .entries, .partials]
    }

    /// Evicts one batch, the longest unused first: at least `bytes`, if the batch has them. What a run holds stays.
    ///
    /// - Returns: how many entries, and what became free.
    func evictOldest(_ bytes: Int64) throws(StoreError) -> (count: Int, freed: Int64) {
        try flush()
        let victims = try change { (totals) throws(StoreError) in
            var victims: [(id: Int64, allocated: Int64, lastUse: Int64)] = []
            var sum: Int64 = 0
            let select = try database().prepared(.oldest).bind(1, budget.evictionBatch)
            do {
                defer { select.reset() }
                while sum < bytes, try select.step() {
                    victims.append((select.integer(0), select.integer(1), select.integer(2)))
                    sum += select.integer(1)
                }
            }
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
            let delete = try database().prepared(.deleteDoomed)
            for id in gone {
                defer { delete.reset() }
                delete.bind(1, id)
                while try delete.step() { freed += delete.integer(0) }
            }
            totals.doomed -= freed
            return freed
        }
    }

    /// All of the doomed, in batches.
    func deleteDoomed() throws(StoreError) -> Int64 {
        var freed: Int64 = 0
        var last = Int64.min
        while true {
            let batch = try doomed(after: last)
            guard let end = batch.last else { return freed }
            freed += try deleteDoomed(batch)
            last = end
        }
    }

    private func doomed(after id: Int64) throws(StoreError) -> [Int64] {
        let select = try database().prepared(.doomed).bind(1, id).bind(2, budget.evictionBatch)
        defer { select.reset() }
        var ids: [Int64] = []
        while try select.step() { ids.append(select.integer(0)) }
        return ids
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
