import FoundationEssentials
import Glibc
import Logging

/// The index of one cache directory: SQLite behind questions and changes that the store understands.
///
/// Used by one thread at a time (`DiskStore` keeps it in a `Locked`). Every call is synchronous: a look-up takes
/// microseconds, a change some tens of them; only a checkpoint, once in thousands of commits, waits for the disk.
final class Index {
    let paths: Paths
    let configuration: StoreConfiguration
    let generations: Generations
    var budget: Budget

    /// nil before the first use and after ``close()``.
    var connection: Connection?
    /// The index file that `connection` has open. Another one at its path means that it was moved or deleted.
    var identity: FileStatus.Identity?
    var isClosed = false

    /// Accesses that are not in the index yet, in order; the last one of an entry counts.
    var accesses = PendingAccesses()
    /// What each body folder was last seen to take.
    var folderSizes: [Int64: Int64] = [:]
    var surroundings = Surroundings()
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

    var logger: Logger { configuration.logger }
    var now: Int64 { Self.milliseconds(configuration.clock()) }

    static func milliseconds(_ date: Date) -> Int64 {
        let value = date.timeIntervalSince1970 * 1000
        return value.isFinite && abs(value) < 9e15 ? Int64(value) : 0
    }

    static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    func database() throws(StoreError) -> Connection {
        guard let connection else { throw StoreError(.closed, "the store is closed", path: paths.root) }
        return connection
    }

    // MARK: Transactions

    /// Runs `body` in a write transaction and saves the totals that it changed. All of it happens or nothing.
    func change<Result>(_ body: (inout Totals) throws(StoreError) -> Result) throws(StoreError) -> Result {
        if configuration.isReadOnly {
            throw StoreError(.notWritable, "the store was opened for reading only", path: paths.root)
        }
        let connection = try database()
        try connection.prepared(.begin).run()
        do throws(StoreError) {
            let before = try readTotals()
            noticeCapacity(before)
            var totals = before
            let result = try body(&totals)
            if totals != before {
                let save = try connection.prepared(.saveTotals)
                totals.bind(to: save)
                try save.run()
            }
            try connection.prepared(.commit).run()
            return result
        } catch {
            // After some errors (a full disk) SQLite has rolled back by itself.
            if connection.isInTransaction { try? connection.prepared(.rollback).run() }
            folderSizes.removeAll()
            throw error
        }
    }

    func readTotals() throws(StoreError) -> Totals {
        let select = try database().prepared(.totals)
        defer { select.reset() }
        guard try select.step() else { throw StoreError(.damaged, "the index has lost its totals", path: paths.index) }
        return Totals(select)
    }

    func number(_ query: Query) throws(StoreError) -> Int64 {
        let select = try database().prepared(query)
        defer { select.reset() }
        return try select.step() ? select.integer(0) : 0
    }

    // MARK: Entries

    func entries(for key: EntryKey, withAccess: Bool = false) throws(StoreError) -> [StoredEntry] {
        let query = withAccess ? Query.entriesByKeyWithAccess : .entriesByKey
        let select = try database().prepared(query).bind(1, keyHash(key)).bind(2, key.value)
        defer { select.reset() }
        var found: [StoredEntry] = []
        while try select.step() { found.append(StoredEntry(select, withAccess: withAccess)) }
        return found
    }

    func entry(_ id: Int64) throws(StoreError) -> StoredEntry? { try database().entry(id) }

    func exists(_ id: Int64) throws(StoreError) -> Bool {
        let select = try database().prepared(.entryExists).bind(1, id)
        defer { select.reset() }
        return try select.step()
    }

    /// Puts an entry's row among the doomed: nobody finds it any more, its bytes still count.
    func doom(_ id: Int64, _ totals: inout Totals) throws(StoreError) -> Bool {
        let connection = try database()
        let delete = try connection.prepared(.deleteEntry).bind(1, id)
        var allocated: Int64?
        do {
            defer { delete.reset() }
            while try delete.step() { allocated = delete.integer(0) }
        }
        guard let allocated else { return false }
        try connection.prepared(.deleteAccess).bind(1, id).run()
        try connection.prepared(.insertDoomed).bind(1, id).bind(2, allocated).run()
        if try !holders(of: id).isEmpty { totals.held -= allocated }
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
            try database().prepared(.updateMetadata).bind(1, entry.id).bind(2, metadata).run()
            guard try database().changes > 0 else { return nil }
            let after = try noted(generations.tableNow.generation(of: entry.url))
            guard let variant, variant != entry.variant else { return after }
            for other in try self.entry(for: entry.key, variant: variant) where other.id != entry.id {
                if try doom(other.id, &totals) { replaced.append(other.id) }
            }
            try database().prepared(.updateVariant).bind(1, entry.id).bind(2, variant).run()
            return after
        }
        try deleteDoomed(replaced)
        return after
    }
}

extension Connection {
    func entry(_ id: Int64) throws(StoreError) -> StoredEntry? {
        let select = try prepared(.entryByID).bind(1, id)
        defer { select.reset() }
        return try select.step() ? StoredEntry(select, withAccess: true) : nil
    }
}

extension StoredEntry {
    init(_ row: Statement, withAccess: Bool) {
        id = row.integer(0)
        key = EntryKey(row.text(1))
        variant = row.text(2)
        url = row.text(3)
        size = row.integer(4)
        allocated = row.integer(5)
        metadata = row.bytes(6)
        created = Index.date(row.integer(7))
        checksum = row.checksum(8)
        boot = row.integer(9)
        lastAccess = withAccess ? Index.date(row.integer(10)) : nil
        accessSequence = withAccess ? row.integer(11) : nil
    }
}
