import FoundationEssentials
import Glibc
import Logging

/// The index of one cache directory: keeps the catalogue's rows, their sums and the files of one accord.
///
/// Its folders: `Catalogue` has the SQL, `Capacity` decides what is evicted, `Recovery` what becomes of what a kill left.
///
/// Used by one thread at a time (`DiskStore` keeps it in a `Locked`). Every call is synchronous: a look-up takes
/// microseconds, a change some tens of them; only a checkpoint, once in thousands of commits, waits for the disk.
final class Index {
    let paths: Paths
    let configuration: StoreConfiguration
    let generations: Generations
    var budget: Budget

    /// nil before the first use and after ``close()``.
    var openCatalogue: Catalogue?
    /// The index file that the catalogue has open. Another one at its path means that it was moved or deleted.
    var identity: FileStatus.Identity?
    var isClosed = false

    /// Accesses that are not in the index yet, in order; the last one of an entry counts.
    var accesses = PendingAccesses()
    /// The size at which each body folder was last seen.
    var folderSizes: [Int64: Int64] = [:]
    var diskUsage = DiskUsage()
    /// The index that was moved aside counts as well.
    var asideBytes: Int64 = 0
    var evictions = EvictionStatistics()
    var hasTidiedPartials = false
    /// This process's hold on what it has handed out, once it has one.
    var run: Run?
    /// A capacity that another process was asked for, until it is taken over.
    var announcedCapacity: Int64?
    var capacityChange: CapacityChange?

    init(paths: Paths, configuration: StoreConfiguration, generations: Generations) {
        self.paths = paths
        self.generations = generations
        self.configuration = configuration
        budget = Budget(capacity: configuration.capacity ?? StoreConfiguration.defaultCapacity)
    }

    var limits: EntryLimits { EntryLimits(configuration) }
    var logger: Logger { configuration.logger }
    var now: Int64 { Self.milliseconds(configuration.clock()) }

    static func milliseconds(_ date: Date) -> Int64 {
        let value = date.timeIntervalSince1970 * 1000
        return value.isFinite && abs(value) < 9e15 ? Int64(value) : 0
    }

    static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    func catalogue() throws(StoreError) -> Catalogue {
        guard let openCatalogue else { throw StoreError(.closed, "the store is closed", path: paths.root) }
        return openCatalogue
    }

    // MARK: Transactions

    /// Runs `body` in a write transaction and saves the totals that it changed. All of it happens or nothing.
    func change<Result>(_ body: (inout Totals) throws(StoreError) -> Result) throws(StoreError) -> Result {
        if configuration.isReadOnly {
            throw StoreError(.notWritable, "the store was opened for reading only", path: paths.root)
        }
        let catalogue = try catalogue()
        try catalogue.begin()
        do throws(StoreError) {
            let before = try catalogue.totals()
            noticeCapacity(before)
            var totals = before
            let result = try body(&totals)
            if totals != before { try catalogue.save(totals) }
            try catalogue.commit()
            return result
        } catch {
            catalogue.rollBack()
            folderSizes.removeAll()
            throw error
        }
    }

    func readTotals() throws(StoreError) -> Totals { try catalogue().totals() }

    // MARK: Entries

    func exists(_ id: Int64) throws(StoreError) -> Bool { try catalogue().hasEntry(id) }

    /// Puts an entry's row among the doomed: nobody finds it any more, its bytes still count.
    func doom(_ id: Int64, _ totals: inout Totals) throws(StoreError) -> Bool {
        let catalogue = try catalogue()
        guard let allocated = try catalogue.deleteEntry(id) else { return false }
        try catalogue.insertDoomed(id, allocated: allocated)
        if try !catalogue.holders(of: id).isEmpty { totals.held -= allocated }
        totals.entries -= 1
        totals.bodies -= allocated
        totals.doomed += allocated
        return true
    }

    /// - Parameter variant: the entry's from now on; `nil`: as it was. An entry that had it before goes.
    /// - Returns: The resource's generation after the change; `nil` when the entry is gone.
    func updateMetadata(
        _ entry: StoredEntry, _ metadata: [UInt8], variant: String?
    ) throws(StoreError) -> Generation? {
        var replaced: [Int64] = []
        let after: Generation? = try change { (totals) throws(StoreError) in
            replaced = []
            let catalogue = try catalogue()
            guard try catalogue.save(metadata: metadata, of: entry.id) else { return nil }
            let after = try noted(generations.tableNow.generation(of: entry.url))
            guard let variant, variant != entry.variant else { return after }
            if let other = try catalogue.entry(of: entry.key, variant: variant), other.id != entry.id {
                if try doom(other.id, &totals) { replaced.append(other.id) }
            }
            try catalogue.save(variant: variant, of: entry.id)
            return after
        }
        try deleteDoomed(replaced)
        return after
    }
}
