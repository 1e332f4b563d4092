/// The division of a capacity: the share for bodies, and the allowances for index, log and folders.
///
/// The size of the directory reported by `du` must never exceed the capacity, so anything that is not counted exactly
/// (the log, the small fixed files) is counted at its maximum.
struct Budget: Equatable, Sendable {
    let capacity: Int64

    static let page: Int64 = 4096
    /// A page in SQLite's log: the page and its header.
    static let frame: Int64 = 4120

    /// The target size of an eviction, which a commit beyond the capacity triggers.
    var goal: Int64 { capacity / 10 * 9 }

    /// The number of pages in the log at which SQLite copies them into the index (`wal_autocheckpoint`): 16,000 at the
    /// default capacity, where a checkpoint's two fsyncs are negligible; a thirty-second of smaller capacities.
    var checkpointPages: Int64 { min(max(capacity / Self.frame / 32, 32), 16_000) }

    /// The greatest number of pages that one transaction adds to the log before the following checkpoint.
    private var transactionPages: Int64 { max(checkpointPages / 2, 32) }

    /// The greatest size of the log and its shared memory.
    var logAllowance: Int64 {
        let pages = checkpointPages + transactionPages
        return Self.rounded(pages * Self.frame) + (pages / 4062 + 1) * 32_768
    }

    /// Root, `bodies` and `partials` folders, CACHEDIR.TAG, locks, generations.
    var fixedAllowance: Int64 { 8 * Self.page + Self.rounded(Int64(GenerationTable.byteCount)) }

    /// The number of entries evicted in one transaction.
    var evictionBatch: Int64 { min(max(checkpointPages / 8, 4), 256) }

    /// The number of folders that new bodies are distributed over: all 256 only if their own blocks are insignificant.
    var folders: Int64 {
        var count: Int64 = 1
        while count < 256 && count * 4 << 20 < capacity { count *= 2 }
        return count
    }

    /// The bytes by which a partial of unknown length extends its reservation.
    func reservationStep(held: Int64) -> Int64 {
        Self.rounded(min(max(held / 4, 512 << 10), 64 << 20, capacity / 16))
    }

    /// The size above which a body is rejected immediately: it would not fit even if everything else were evicted.
    func largestBody(indexPages: Int64) -> Int64 {
        capacity - logAllowance - fixedAllowance - indexPages * Self.page
    }

    /// The space that a file of this length occupies on disk.
    static func rounded(_ size: Int64) -> Int64 {
        let (sum, overflow) = size.addingReportingOverflow(page - 1)
        return overflow ? Int64.max : sum / page * page
    }
}
