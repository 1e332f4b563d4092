/// How a capacity is divided: what bodies may take, and what index, log and folders need beside them.
///
/// The promise is that `du` of the directory never shows more than the capacity. So everything that is not counted
/// exactly (the log, the small fixed files) is counted at the most that it can be.
struct Budget: Equatable, Sendable {
    let capacity: Int64

    static let page: Int64 = 4096
    /// A page in SQLite's log: the page and its header.
    static let frame: Int64 = 4120

    /// After a commit would pass the capacity, entries are evicted until this is kept.
    var goal: Int64 { capacity / 10 * 9 }

    /// Pages in the log at which SQLite copies them into the index (`wal_autocheckpoint`): 16,000 at the default
    /// capacity, where a checkpoint's two fsyncs vanish; a thirty-second of smaller capacities.
    var checkpointPages: Int64 { min(max(capacity / Self.frame / 32, 32), 16_000) }

    /// The most that one transaction adds to the log before the checkpoint that follows it.
    private var transactionPages: Int64 { max(checkpointPages / 2, 32) }

    /// The most that the log and its shared memory can take.
    var logAllowance: Int64 {
        let pages = checkpointPages + transactionPages
        return Self.rounded(pages * Self.frame) + (pages / 4062 + 1) * 32_768
    }

    /// Root, `bodies` and `partials` folders, CACHEDIR.TAG, locks, generations.
    var fixedAllowance: Int64 { 8 * Self.page + Self.rounded(Int64(GenerationTable.byteCount)) }

    /// Entries evicted in one transaction.
    var evictionBatch: Int64 { min(max(checkpointPages / 8, 4), 256) }

    /// Folders that new bodies are spread over: all 256 only where their own blocks do not matter.
    var folders: Int64 {
        var count: Int64 = 1
        while count < 256 && count * 4 << 20 < capacity { count *= 2 }
        return count
    }

    /// By how much a partial of unknown length extends its reservation, beyond what it holds.
    func reservationStep(held: Int64) -> Int64 {
        Self.rounded(min(max(held / 4, 512 << 10), 64 << 20, capacity / 16))
    }

    /// No body above this is ever begun: even with everything else evicted it would not fit.
    func largestBody(indexPages: Int64) -> Int64 {
        capacity - logAllowance - fixedAllowance - indexPages * Self.page
    }

    /// The bytes that a file of this length takes on disk.
    static func rounded(_ size: Int64) -> Int64 {
        let (sum, overflow) = size.addingReportingOverflow(page - 1)
        return overflow ? Int64.max : sum / page * page
    }
}
