/// The space that the directory takes and the disk offers, at one moment. Determines the space missing for a body, and
/// the space that can be freed.
struct StoreUsage: Equatable {
    var budget: Budget
    var totals = Totals()
    var indexPages: Int64 = 0
    /// The number of these pages without content, which can be returned to the disk.
    var freePages: Int64 = 0
    /// The log's present size.
    var logBytes: Int64 = 0
    /// The size of indexes that were moved aside.
    var asideBytes: Int64 = 0
    /// The size of lists and their records in the index, which no eviction frees.
    var listBytes: Int64 = 0
    /// The file system's free space, and the part of it to leave free.
    var diskFree = Int64.max / 2
    var minimumFreeSpace: Int64 = 0

    /// The pages of an index without entries, with a reserve.
    static let emptyIndexPages: Int64 = 64
    /// The index file's growth before the next look at the disk.
    private static let indexGrowth: Int64 = 256 << 10

    /// The bytes that the directory takes or may take, as counted by `du`.
    var used: Int64 {
        totals.counted + indexPages * Budget.page + max(logBytes, budget.logAllowance) + budget.fixedAllowance
            + asideBytes
    }

    /// The space that remains free: without space for the log, neither commits nor evictions are possible.
    private var reserve: Int64 { max(minimumFreeSpace, budget.logAllowance - logBytes + Self.indexGrowth) }

    func excess(with bytes: Int64) -> Int64 { used + bytes - budget.capacity }

    /// The bytes to remove before `bytes` more fit into the capacity and leave the reserve of the disk free.
    func shortage(of bytes: Int64) -> Int64 { max(excess(with: bytes), bytes + reserve - diskFree) }

    /// The bytes above the target size of an eviction.
    func excessOverGoal(with bytes: Int64) -> Int64 { used + bytes - budget.goal }

    /// The largest body that could be stored if nothing else were.
    var largestBody: Int64 {
        // A large index shrinks with its entries; its minimum counts if it takes a significant part of the capacity.
        let pages = min(indexPages, max(Self.emptyIndexPages, budget.capacity / 16 / Budget.page))
        return budget.largestBody(indexPages: pages) - totals.folders - asideBytes
    }

    /// The same, as far as the disk has room for it.
    var largestBodyOnDisk: Int64 { min(largestBody, max(0, totals.counted + diskFree - reserve)) }

    // MARK: What can be freed

    /// The bytes of bodies that no run holds.
    ///
    /// - Parameter countsDoomed: False if the remaining doomed bodies have readers.
    func freeableBodies(countsDoomed: Bool) -> Int64 {
        max(0, totals.bodies + (countsDoomed ? totals.doomed : 0) - totals.held)
    }

    /// The bytes by which the index shrinks if everything removable is removed: all but the minimum; or, if runs hold
    /// entries in unknown pages, half of the others' share.
    var freeableIndex: Int64 {
        let spare = max(0, indexPages - Self.emptyIndexPages - listBytes / Budget.page)
        if totals.held <= 0 { return spare * Budget.page }
        let free = min(spare, freePages)
        let share = totals.bodies > 0 ? Double(max(0, totals.bodies - totals.held)) / Double(totals.bodies) : 0
        return (free + Int64(Double(spare - free) * share / 2)) * Budget.page
    }

    /// Decides if this number of bytes can be freed: nothing is evicted if everything removable would not suffice.
    ///
    /// - Parameter idlePartials: The bytes of idle partials, if counted.
    func canFree(_ bytes: Int64, countsDoomed: Bool = true, idlePartials: Int64?) -> Feasibility {
        let rest = bytes - freeableBodies(countsDoomed: countsDoomed) - freeableIndex
        if rest <= 0 { return .yes }
        guard rest <= totals.partials else { return .no }
        guard let idlePartials else { return .dependsOnPartials(rest) }
        return rest <= idlePartials ? .yes : .no
    }

    enum Feasibility: Equatable {
        case yes, no
        /// It depends on the partials that are in use: idle ones must have this number of bytes.
        case dependsOnPartials(Int64)
    }

    // MARK: Refusing

    /// The reason why a number of bytes does not fit.
    enum NoRoomReason: Equatable {
        /// Runs hold the bodies that would have to be removed; this number of bytes is reserved for downloads.
        case held(loading: Int64)
        case capacity
        case disk
    }

    func noRoomReason(for bytes: Int64, idlePartials: Int64) -> NoRoomReason {
        if totals.held > 0, excess(with: bytes) > 0 { return .held(loading: totals.partials - idlePartials) }
        let isDiskFull = diskFree - minimumFreeSpace < bytes + budget.logAllowance + Self.indexGrowth
        return isDiskFull ? .disk : .capacity
    }
}
