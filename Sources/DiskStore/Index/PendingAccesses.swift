import Logging

/// Accesses noted since the last write: a hit should not cost a transaction.
struct PendingAccesses {
    /// Written when there are this many,
    static let limit = 1000
    /// or when the oldest has waited this long (milliseconds) and the index is used again.
    static let longestWait: Int64 = 1000

    private var dates: [Int64: (order: Int, date: Int64)] = [:]
    private var next = 0
    private var since: Int64 = 0

    var isEmpty: Bool { dates.isEmpty }

    mutating func note(_ entry: Int64, at date: Int64) {
        if dates.isEmpty { since = date }
        dates[entry] = (next, date)
        next += 1
    }

    /// Also due when the clock stepped back behind the first of them.
    func isDue(at now: Int64) -> Bool {
        dates.count >= Self.limit || !dates.isEmpty && !(since..<since + Self.longestWait).contains(now)
    }

    /// In the order in which they happened.
    mutating func take() -> [(entry: Int64, date: Int64)] {
        let all = dates.sorted { $0.value.order < $1.value.order }.map { (entry: $0.key, date: $0.value.date) }
        dates.removeAll(keepingCapacity: true)
        next = 0
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

    /// Writes the pending accesses in a transaction that runs already: before a commit, so that the order is kept.
    func writeAccesses(_ totals: inout Totals) throws(StoreError) {
        if accesses.isEmpty { return }
        let catalogue = try catalogue()
        for access in accesses.take() {
            try catalogue.noteUse(of: access.entry, sequence: totals.takeSequence(), date: access.date)
        }
    }

    /// Writes the pending accesses. When that fails they are dropped: an access date is not worth an error, except
    /// one that says that the index is damaged.
    func flush() throws(StoreError) {
        if accesses.isEmpty || openCatalogue == nil { return }
        do throws(StoreError) {
            try change { (totals) throws(StoreError) in try writeAccesses(&totals) }
        } catch  where error.code != .damaged {
            logger.debug("access dates were not written", metadata: ["error": "\(error)"])
        }
    }
}
