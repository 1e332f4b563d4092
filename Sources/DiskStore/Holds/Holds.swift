import Glibc
import Logging

// Delivered bodies remain until the run that received them ends.
//
// A row records that a run needs a body's file: while the run lives, the entry is not evicted, and if it is removed or
// replaced, its file keeps its name. A run is a lock on one byte of the lock file, whatever number of bodies it holds;
// the kernel releases it when the process ends. Rows of a run without its lock are obsolete and deleted by any process.

/// This process's run.
struct Run {
    let id: Int64
    /// The file that holds the lock; `nil` if locks are unavailable. Other processes then treat the run as ended.
    let lock: LockFile?
}

extension Index {
    // MARK: This process

    /// Holds an entry's body until this store is closed. Must be called inside a transaction.
    ///
    /// - Parameter isDoomed: True if the body is no longer an entry. It then counts as deleted instead of held.
    func hold(
        _ id: Int64, allocated: Int64, isDoomed: Bool = false, _ totals: inout Totals
    ) throws(StoreError) {
        let run = ownRun()
        let catalogue = try catalogue()
        if !isDoomed, try catalogue.holds.holders(of: id).isEmpty { totals.held += allocated }
        try catalogue.holds.insert(id, run: run.id, allocated: allocated)
    }

    /// Holds the bodies of entries whose files are open under their shared locks, in one transaction.
    ///
    /// - Returns: The numbers of the bodies that still exist as entries or as files.
    func hold(_ entries: [StoredEntry]) throws(StoreError) -> Set<Int64> {
        try change { (totals) throws(StoreError) in
            var held: Set<Int64> = []
            for entry in entries {
                let isEntry = try exists(entry.id)
                if !isEntry { guard try catalogue().deletedBodies.contains(entry.id) else { continue } }
                try hold(entry.id, allocated: entry.allocated, isDoomed: !isEntry, &totals)
                held.insert(entry.id)
            }
            return held
        }
    }

    /// The number of runs that are tried to find one that no other process uses.
    private static let runAttempts = 16

    private func ownRun() -> Run {
        if let run { return run }
        let made = lockedRun() ?? Run(id: newRun(), lock: nil)
        if made.lock == nil, !fileSystem.isShared {
            logger.warning(
                "the lock file does not lock: other processes may evict delivered files while this runs",
                metadata: ["path": "\(paths.locks)"])
        }
        run = made
        return made
    }

    /// A run that no other process uses; `nil` if locks are unavailable.
    private func lockedRun() -> Run? {
        guard let file = try? LockFile(paths.locks) else { return nil }
        for _ in 0..<Self.runAttempts {
            let id = newRun()
            switch file.lock(LockByte.of(run: id)) {
            case .locked: return Run(id: id, lock: file)
            case .busy: continue
            case .unavailable: return nil
            }
        }
        return nil
    }

    /// On a shared file system the number contains the process: locks may not say that the run lives.
    private func newRun() -> Int64 {
        fileSystem.isShared ? Claim.newRun() : Int64.random(in: 1..<LockByte.runs)
    }

    func releaseOwnRun() throws(StoreError) {
        guard let run else { return }
        self.run = nil
        try release(run.id)
    }

    // MARK: All runs

    /// True if a live run holds the body.
    func isHeld(_ id: Int64) throws(StoreError) -> Bool {
        try catalogue().holds.holders(of: id).contains { isAlive($0) }
    }

    private func isAlive(_ id: Int64) -> Bool {
        if id == run?.id || fileSystem.isShared && Claim.isAlive(run: id) { return true }
        do throws(StoreError) {
            return try LockFile(paths.locks).isLocked(LockByte.of(run: id))
        } catch {
            // Without its file no lock exists. If the file cannot be opened now, nothing is known.
            return error.errno != ENOENT && !error.isOfOtherKind
        }
    }

    /// Releases the holds of runs that have ended without releasing them.
    func releaseDeadRuns() throws(StoreError) {
        var place: Int64? = 0
        while let last = place { place = try releaseSomeOfDeadRun(after: last) }
    }

    /// Releases some holds of the next run if it has ended without releasing them. The others stay until any process releases them.
    ///
    /// - Returns: The place after which the next call continues, or `nil` if there are no more runs.
    func releaseSomeOfDeadRun(after last: Int64) throws(StoreError) -> Int64? {
        guard let run = try catalogue().holds.run(after: last) else { return nil }
        if isAlive(run) { return run }
        // A run that has more holds is the next one again.
        return try releaseSome(of: run) ? run - 1 : run
    }

    private func release(_ run: Int64) throws(StoreError) { while try releaseSome(of: run) {} }

    /// Deletes some of a run's rows, limited by the log, and the files that waited for its end. Returns false if there are no more.
    private func releaseSome(of run: Int64) throws(StoreError) -> Bool {
        let limit = budget.evictionBatch
        let released = try change { (totals) throws(StoreError) in
            let catalogue = try catalogue()
            let rows = try catalogue.holds.delete(ofRun: run, limit: limit)
            var doomed: [Int64] = []
            for row in rows where try catalogue.holds.holders(of: row.id).isEmpty {
                if try exists(row.id) { totals.held -= row.allocated } else { doomed.append(row.id) }
            }
            return (count: rows.count, doomed: doomed)
        }
        try deleteDoomed(released.doomed)
        return released.count == limit
    }
}
