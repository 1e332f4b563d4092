import Logging

/// Accesses that were recorded since the last write, so that a hit does not cost a transaction.
struct PendingAccesses {
    /// The number of pending accesses at which they are written.
    static let limit = 1000
    /// The age of the oldest one, in milliseconds, at which they are written by the next use of the index.
    static let longestWait: Int64 = 1000

    private var dates: [Int64: (order: Int, date: Int64)] = [:]
    private var next = 0
    private var since: Int64 = 0
    /// The number of pending accesses at which they are written next.
    private var limit = Self.limit
    /// The number of pending accesses at which they are dropped if they cannot be written.
    private static let most = 100_000

    var isEmpty: Bool { dates.isEmpty }

    mutating func note(_ entry: Int64, at date: Int64) {
        if dates.isEmpty { since = date }
        dates[entry] = (next, date)
        next += 1
    }

    /// Returns true if the accesses must be written now, also if the clock was set back before the first of them.
    func isDue(at now: Int64) -> Bool {
        dates.count >= limit || !dates.isEmpty && !(since..<since + Self.longestWait).contains(now)
    }

    /// Delays the next write, because another process prevents it.
    mutating func postpone(at now: Int64) {
        since = now
        limit = dates.count + Self.limit
        if dates.count >= Self.most { dates.removeAll() }
    }

    /// Returns the accesses in order, and clears them.
    mutating func take() -> [(entry: Int64, date: Int64)] {
        let all = dates.sorted { $0.value.order < $1.value.order }.map { (entry: $0.key, date: $0.value.date) }
        dates.removeAll(keepingCapacity: true)
        next = 0
        limit = Self.limit
        return all
    }
}

extension Index {
    func touch(_ entry: Int64) throws(StoreError) {
        if configuration.isReadOnly { return }
        let now = now
        accesses.note(entry, at: now)
        if accesses.isDue(at: now) { try flush() }
    }

    /// Writes the pending accesses within a running transaction, before a commit, so that the order is preserved.
    func writeAccesses(_ totals: inout Totals) throws(StoreError) {
        if accesses.isEmpty { return }
        let catalogue = try catalogue()
        for access in accesses.take() {
            try catalogue.entries.noteUse(of: access.entry, sequence: totals.takeSequence(), date: access.date)
        }
    }

    /// Writes the pending accesses, or delays the write if another process is changing the index. On failure they are dropped, because access dates
    /// are not worth an error, unless the error indicates a damaged index.
    func flush() throws(StoreError) {
        if accesses.isEmpty || openCatalogue == nil { return }
        do throws(StoreError) {
            let isWritten: Void? = try changeUnlessBusy { (totals) throws(StoreError) in try writeAccesses(&totals) }
            if isWritten == nil { accesses.postpone(at: now) }
        } catch  where error.code != .damaged {
            logger.debug("access dates were not written", metadata: ["error": "\(error)"])
        }
    }
}
