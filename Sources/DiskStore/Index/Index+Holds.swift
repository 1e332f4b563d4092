import CLinux
import Glibc

// Delivered bodies remain until the run that received them ends.
//
// A row records that a run needs a body's file: while the run lives, the entry is not evicted, and if it is removed or
// replaced, its file keeps its name. A run is a lock on one byte of the lock file, whatever number of bodies it holds;
// the kernel releases it when the process ends. Rows of a run without its lock are obsolete and deleted by any process.

/// This process's run.
struct Run {
    let id: Int64
    /// The file that holds the lock.
    let lock: File
}

extension Index {
    // MARK: This process

    /// Holds an entry's body until this store is closed. Inside a transaction.
    ///
    /// - Parameter isDoomed: True if it is no longer an entry; it then counts as doomed instead of held.
    func hold(
        _ id: Int64, allocated: Int64, isDoomed: Bool = false, _ totals: inout Totals
    ) throws(StoreError) {
        let run = try ownRun()
        let catalogue = try catalogue()
        if !isDoomed, try catalogue.holders(of: id).isEmpty { totals.held += allocated }
        try catalogue.insertHold(id, run: run, allocated: allocated)
    }

    /// Holds the bodies of entries whose files are open under their shared locks, in one transaction.
    ///
    /// - Returns: The numbers of those that, or whose files, are still there.
    func hold(_ entries: [StoredEntry]) throws(StoreError) -> Set<Int64> {
        try change { (totals) throws(StoreError) in
            var held: Set<Int64> = []
            for entry in entries {
                let isEntry = try exists(entry.id)
                if !isEntry { guard try catalogue().isDoomed(entry.id) else { continue } }
                try hold(entry.id, allocated: entry.allocated, isDoomed: !isEntry, &totals)
                held.insert(entry.id)
            }
            return held
        }
    }

    private func ownRun() throws(StoreError) -> Int64 {
        if let run { return run.id }
        let lock = try File(paths.locks, O_RDWR | O_CREAT, mode: 0o600)
        while true {
            let id = Int64.random(in: 1..<LockByte.runs)
            // On a file system without locks, live runs cannot be detected, and nothing is held.
            guard clinux_lock_byte(lock.descriptor, LockByte.of(run: id)) != 1 else { continue }
            run = Run(id: id, lock: lock)
            return id
        }
    }

    func releaseOwnRun() throws(StoreError) {
        guard let run else { return }
        self.run = nil
        try release(run.id)
    }

    // MARK: All of them

    /// True if a live run holds the body.
    func isHeld(_ id: Int64) throws(StoreError) -> Bool { try catalogue().holders(of: id).contains { isAlive($0) } }

    private func isAlive(_ id: Int64) -> Bool {
        if id == run?.id { return true }
        guard let file = try? File(paths.locks, O_RDWR) else { return false }
        return withExtendedLifetime(file) { clinux_is_byte_locked(file.descriptor, LockByte.of(run: id)) == 1 }
    }

    /// Releases the holds of runs that have ended without releasing them.
    func releaseDeadRuns() throws(StoreError) {
        var last: Int64 = 0
        while let run = try catalogue().run(after: last) {
            if !isAlive(run) { try release(run) }
            last = run
        }
    }

    /// Deletes a run's rows, in steps limited by the log, and the files that waited for its end.
    private func release(_ run: Int64) throws(StoreError) {
        while true {
            let released = try change { (totals) throws(StoreError) in
                let catalogue = try catalogue()
                let rows = try catalogue.deleteHolds(ofRun: run, limit: budget.evictionBatch)
                var doomed: [Int64] = []
                for row in rows where try catalogue.holders(of: row.id).isEmpty {
                    if try exists(row.id) { totals.held -= row.allocated } else { doomed.append(row.id) }
                }
                return (count: rows.count, doomed: doomed)
            }
            if released.count == 0 { return }
            try deleteDoomed(released.doomed)
        }
    }
}
