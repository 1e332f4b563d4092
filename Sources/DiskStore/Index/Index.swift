import FoundationEssentials
import Glibc
import Logging

/// The index of one cache directory: keeps the catalogue's rows, their sums and the files consistent.
///
/// Its functions are next to the tables that they change: `Entries`, `Partials`, `Holds`, `Pins`, `Lists`. Those that free space are in `Capacity`,
/// and those that open the index and handle the leftovers of a kill in `Recovery`.
///
/// Used by one thread at a time (`DiskStore` keeps it in a `Locked`). All calls are synchronous: a look-up takes
/// microseconds, a change some tens of them; only a checkpoint, once in thousands of commits, waits for the disk.
final class Index {
    let paths: Paths
    let configuration: StoreConfiguration
    let generations: Generations
    let fileSystem: FileSystemKind
    var budget: Budget

    /// `nil` before the first use and after ``close()``.
    var openCatalogue: Catalogue?
    /// The identity of the open index file. Another one at its path means that it was moved or deleted.
    var identity: FileStatus.Identity?
    /// The time at which the path last had that identity, in milliseconds of ``CoarseClock``.
    var seen: Int64 = 0
    var isClosed = false

    /// Accesses that are not yet in the index, in order. The last one of an entry counts.
    var accesses = PendingAccesses()
    /// The last known size of each body folder.
    var folderSizes: [Int64: Int64] = [:]
    var diskUsage = DiskUsage()
    /// The number of bytes of new bodies after which room is checked again.
    var roomCredit: Int64 = 0
    /// The size of indexes that were moved aside, which counts as well.
    var asideBytes: Int64 = 0
    var evictions = EvictionStatistics()
    var hasRecoveredPartials = false
    /// The greatest number of a partial when their folder was last listed; nil before.
    var lastPartial: Int64?
    /// This process's run, as soon as it holds a body.
    var run: Run?
    /// Changes of resources that were recorded in the running transaction.
    var unsettled: [Generation] = []
    /// The table of generations, which is looked for in the directory once in each transaction.
    private var generationTable: GenerationTable?
    /// The folders to which the running transaction has added a file. Their size is counted at its end.
    var grownFolders: Set<Int64> = []
    /// True if the current call has changed the index. Then it cannot be retried.
    var hasChanged = false
    /// The time that further transactions of the current call wait, in milliseconds.
    var laterWait: Int32 = 0
    /// The time at which another process was first found changing the index; `nil` after a successful transaction.
    var busySince: ContinuousClock.Instant?
    /// True after a wait that failed, because another process may be stopped.
    var isStalled = false
    /// A capacity announced by another process, until it is applied.
    var announcedCapacity: Int64?
    var capacityChange: CapacityChange?
    /// Called before each write transaction. Tests end a process in it, or let another process act first.
    var beforeChange: (() throws(StoreError) -> Void)?

    init(paths: Paths, configuration: StoreConfiguration, generations: Generations, fileSystem: FileSystemKind) {
        self.paths = paths
        self.generations = generations
        self.fileSystem = fileSystem
        self.configuration = configuration
        budget = Budget(capacity: configuration.capacity ?? StoreConfiguration.defaultCapacity)
    }

    var limits: EntryLimits { EntryLimits(configuration) }
    var logger: Logger { configuration.logger }
    var now: Int64 { configuration.clock().milliseconds }

    func catalogue() throws(StoreError) -> Catalogue {
        guard let openCatalogue else { throw StoreError(.closed, "the store is closed", path: paths.root) }
        return openCatalogue
    }

    // MARK: Transactions

    /// Runs `body` in a write transaction and saves the totals that it changed. All or nothing.
    func change<Result>(_ body: (inout Totals) throws(StoreError) -> Result) throws(StoreError) -> Result {
        if configuration.isReadOnly {
            throw StoreError(.notWritable, "the store was opened for reading only", path: paths.root)
        }
        try beforeChange?()
        try ensureOpen(seenWithin: 0)
        let catalogue = try catalogue()
        try catalogue.begin()
        generationTable = nil
        grownFolders.removeAll(keepingCapacity: true)
        do throws(StoreError) {
            let before = try catalogue.totals()
            refreshCapacity(before)
            var totals = before
            let result = try body(&totals)
            for folder in grownFolders { try countFolder(folder, &totals) }
            if totals != before { try catalogue.save(totals) }
            try catalogue.commit()
            noteChange()
            settleGenerations()
            return result
        } catch {
            catalogue.rollBack()
            settleGenerations()
            folderSizes.removeAll()
            throw error
        }
    }

    /// The table of generations for the running transaction.
    func transactionGenerations() throws(StoreError) -> GenerationTable {
        if let generationTable { return generationTable }
        let table = try generations.tableNow()
        generationTable = table
        return table
    }

    /// Runs several look-ups in one read transaction.
    func reading<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        let catalogue = try catalogue()
        try catalogue.beginReading()
        // Nothing was changed, so rolling back is equivalent to committing.
        defer { catalogue.rollBack() }
        return try body()
    }

    func readTotals() throws(StoreError) -> Totals { try catalogue().totals() }

    // MARK: Entries

    func exists(_ id: Int64) throws(StoreError) -> Bool { try catalogue().entries.contains(id) }

    /// Marks entries for deletion, and returns those that existed.
    func markDeleted(_ ids: [Int64], _ totals: inout Totals) throws(StoreError) -> [Int64] {
        var marked: [Int64] = []
        for id in ids where try markDeleted(id, &totals) { marked.append(id) }
        return marked
    }

    /// Marks an entry for deletion: look-ups no longer find it, and its bytes still count.
    func markDeleted(_ id: Int64, _ totals: inout Totals) throws(StoreError) -> Bool {
        let catalogue = try catalogue()
        guard let allocated = try catalogue.entries.delete(id) else { return false }
        try catalogue.deletedBodies.insert(id, allocated: allocated)
        let holders = try catalogue.holds.holders(of: id)
        if !holders.isEmpty { totals.held -= allocated }
        // Runs hold the file that they received. A pin holds the current file.
        if holders.contains(PinSchema.pinRun) { _ = try catalogue.holds.delete(id, run: PinSchema.pinRun) }
        totals.entries -= 1
        totals.bodies -= allocated
        totals.doomed += allocated
        return true
    }

    /// The change that replaces an entry's metadata. If the entry does not exist, it changes nothing and records no generation.
    ///
    /// - Parameters:
    ///   - variant: The entry's new variant; `nil` to keep it. Another entry with that variant is removed.
    ///   - holds: True to hold the entry's body from then on.
    static func updateMetadata(
        of entry: StoredEntry, _ metadata: [UInt8], variant: String?, holds: Bool
    ) -> SharedChange {
        SharedChange { (index, totals) throws(StoreError) in
            var effects = SharedChange.Effects()
            let catalogue = try index.catalogue()
            guard try catalogue.entries.save(metadata: metadata, of: entry.id) else { return effects }
            effects.noted = try index.noted(entry.url)
            if holds { try index.hold(entry.id, allocated: entry.allocated, &totals) }
            guard let variant, variant != entry.variant else { return effects }
            if let other = try catalogue.entries.entry(of: entry.key, variant: variant), other.id != entry.id {
                if try index.markDeleted(other.id, &totals) { effects.replaced.append(other.id) }
            }
            try catalogue.entries.save(variant: variant, of: entry.id)
            return effects
        }
    }
}
