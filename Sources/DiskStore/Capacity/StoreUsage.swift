/// All that the directory takes, and what the disk has for it, at one moment. Decides how much is missing for a body, and how
/// much could be freed.
struct StoreUsage: Equatable {
    var budget: Budget
    var totals = Totals()
    var indexPages: Int64 = 0
    /// Of these, the pages without content, which can be given back.
    var freePages: Int64 = 0
    /// The log's size as it is.
    var logBytes: Int64 = 0
    /// Indexes that were moved aside.
    var asideBytes: Int64 = 0
    /// What lists and their records take of the index, which no eviction frees.
    var listBytes: Int64 = 0
    /// The file system's free space, and how much of it is left to others.
    var diskFree = Int64.max / 2
    var minimumFreeSpace: Int64 = 0

    /// The pages of an index without entries, with some to spare.
    static let emptyIndexPages: Int64 = 64
    /// The index file's growth before the next look at the disk.
    private static let indexGrowth: Int64 = 256 << 10

    /// Bytes that the directory takes or may take, as `du` would count them.
    var used: Int64 {
        totals.counted + indexPages * Budget.page + max(logBytes, budget.logAllowance) + budget.fixedAllowance
            + asideBytes
    }

    /// Space that stays free: without room for the log nothing could be committed any more, and nothing evicted.
    private var reserve: Int64 { max(minimumFreeSpace, budget.logAllowance - logBytes + Self.indexGrowth) }

    func excess(with bytes: Int64) -> Int64 { used + bytes - budget.capacity }

    /// Bytes that must go before `bytes` more fit: into the capacity, and beside the space that stays free.
    func shortage(of bytes: Int64) -> Int64 { max(excess(with: bytes), bytes + reserve - diskFree) }

    /// Bytes above the size to which the store is brought when something must be evicted.
    func excessOverGoal(with bytes: Int64) -> Int64 { used + bytes - budget.goal }

    /// The largest body that could be stored if nothing else were.
    var largestBody: Int64 {
        // A large index would go with its entries; its least size counts where it takes a good part of the capacity.
        let pages = min(indexPages, max(Self.emptyIndexPages, budget.capacity / 16 / Budget.page))
        return budget.largestBody(indexPages: pages) - totals.folders - asideBytes
    }

    // MARK: What can be freed

    /// Bytes of bodies that no run holds.
    ///
    /// - Parameter countsDoomed: False when the doomed that are left are those that somebody reads.
    func freeableBodies(countsDoomed: Bool) -> Int64 {
        max(0, totals.bodies + (countsDoomed ? totals.doomed : 0) - totals.held)
    }

    /// Bytes by which the index gets shorter when all that can go has gone: all but the least, or, where runs hold entries and
    /// nobody knows in which pages, half of the others' share.
    var freeableIndex: Int64 {
        let spare = max(0, indexPages - Self.emptyIndexPages - listBytes / Budget.page)
        if totals.held <= 0 { return spare * Budget.page }
        let free = min(spare, freePages)
        let share = totals.bodies > 0 ? Double(max(0, totals.bodies - totals.held)) / Double(totals.bodies) : 0
        return (free + Int64(Double(spare - free) * share / 2)) * Budget.page
    }

    /// Tells if so much can be freed: when all that can go would not be enough, nothing is evicted.
    ///
    /// - Parameter idlePartials: Bytes of partials that nobody uses, if they were counted.
    func canFree(_ bytes: Int64, countsDoomed: Bool = true, idlePartials: Int64?) -> Answer {
        let rest = bytes - freeableBodies(countsDoomed: countsDoomed) - freeableIndex
        if rest <= 0 { return .yes }
        guard rest <= totals.partials else { return .no }
        guard let idlePartials else { return .dependsOnPartials }
        return rest <= idlePartials ? .yes : .no
    }

    enum Answer: Equatable {
        case yes, no
        /// It takes a look at the partials: those in use stay.
        case dependsOnPartials
    }

    // MARK: Refusing

    /// The reason why so many bytes have no room.
    enum Refusal: Equatable {
        /// Runs hold what would have to go; so much is set aside for downloads.
        case held(loading: Int64)
        case capacity
        case disk
    }

    func refusal(of bytes: Int64, idlePartials: Int64) -> Refusal {
        if totals.held > 0, excess(with: bytes) > 0 { return .held(loading: totals.partials - idlePartials) }
        let isDiskFull = diskFree - minimumFreeSpace < bytes + budget.logAllowance + Self.indexGrowth
        return isDiskFull ? .disk : .capacity
    }
}
