import ConcurrencyPrimitives
import FoundationEssentials
import Glibc

/// A disk store of bodies by key: bounded, shared by any number of processes, and safe to kill at any instruction.
///
/// It owns every path below its directory. It knows no HTTP: an entry's metadata is bytes to it.
///
/// All calls but ``lock(_:onWait:)`` are synchronous. A look-up takes microseconds and a commit some tens of them; what
/// goes over many files (``prune(to:olderThan:dryRun:)``, ``clear(_:)``, ``verify(repair:_:)``, ``sweep(_:)``) takes as
/// long as that takes, in steps between which other callers get their turn.
public final class DiskStore: Sendable {
    /// The cache directory, as an absolute path.
    public let directory: String
    let configuration: StoreConfiguration
    let paths: Paths
    let index: Locked<Index>
    let generations: Generations

    /// Opens the directory, which is created (mode 0700) when it is not there. One that is there must be a cache, known by
    /// its CACHEDIR.TAG or its index, or empty; its mode is left as it is, and the files in it are for their owner alone.
    ///
    /// A cache's index that is damaged, of a newer version or of another program is moved aside with a warning, and an
    /// empty one takes its place. No body folder is listed.
    ///
    /// - Throws: ``StoreError/Code/foreign``, ``StoreError/Code/absent``, ``StoreError/Code/notWritable``, ``StoreError/Code/invalidCapacity``, ``StoreError/Code/full``,
    ///   ``StoreError/Code/io``.
    public init(directory: String, configuration: StoreConfiguration = StoreConfiguration()) throws(StoreError) {
        if let capacity = configuration.capacity, capacity < StoreConfiguration.minimumCapacity {
            throw StoreError(
                .invalidCapacity,
                "a capacity of \(capacity) bytes is too small; at least \(StoreConfiguration.minimumCapacity) are needed",
                path: directory)
        }
        self.directory = try Self.absolute(directory)
        self.configuration = configuration
        let paths = Paths(root: self.directory)
        self.paths = paths
        let generations = Generations(paths: paths, isReadOnly: configuration.isReadOnly)
        self.generations = generations
        index = Locked(Index(paths: paths, configuration: configuration, generations: generations))
        try withIndex { (_) throws(StoreError) in }
    }

    deinit { close() }

    private static func absolute(_ path: String) throws(StoreError) -> String {
        var path = path
        while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
        if path.hasPrefix("/") { return path }
        guard let here = getcwd(nil, 0) else { throw .system("cannot tell the working directory", path: path) }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }

    /// Runs `body` on the open index; when the index turns out to be damaged, once more on an empty one.
    func withIndex<Result: Sendable>(_ body: (Index) throws(StoreError) -> Result) throws(StoreError) -> Result {
        try index.withLock { (index) throws(StoreError) in
            try index.ensureOpen()
            do throws(StoreError) {
                return try body(index)
            } catch  where error.code == .damaged {
                try index.rebuild(because: error)
                return try body(index)
            }
        }
    }

    /// Writes what is pending: access dates.
    public func flush() throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.flush() }
    }

    /// Throws what a change of the store would throw now: it is closed, the index cannot be written, or the disk has no room
    /// for a small body. Changes nothing.
    public func checkWritable() throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.change { (_) throws(StoreError) in } }
        let probe = try SmallBodyFile(in: paths)
        try withUnsafeBytes(of: SIMD64<UInt64>(repeating: 1)) { (bytes) throws(StoreError) in try probe.write(bytes) }
    }

    /// Writes what is pending and closes the index. Bodies that are open stay readable; every later call throws
    /// ``StoreError/Code/closed``.
    public func close() {
        index.withLock { $0.close() }
    }

    /// The bytes that the directory may take: the configured capacity, or what the default came to on this disk.
    public var capacity: Int64 { index.withLock { $0.budget.capacity } }

    /// Where an entry's body is. It may be evicted at any time; ``open(_:)`` gives one that stays.
    public func path(of entry: StoredEntry) -> String { paths.body(entry.id) }

    // MARK: Reading

    /// All variants that are stored under a key, each with its metadata.
    ///
    /// - Parameter withAccess: also when each was last used, which costs a hit more than it is worth to it.
    public func entries(for key: EntryKey, withAccess: Bool = false) throws(StoreError) -> [StoredEntry] {
        try withIndex { (index) throws(StoreError) in
            try index.withoutTooOld(index.catalogue().entries(of: key, withAccess: withAccess))
        }
    }

    /// The variants of a key that a request may be answered with.
    ///
    /// - Parameter variant: gives, for what stands before the line break in a variant, the whole variant that is wanted. A key
    ///   may have many; no others than these are read, and one of each group where the wanted one is not there.
    public func entries(
        for key: EntryKey, variant: (_ group: Substring) -> String
    ) throws(StoreError) -> [StoredEntry] {
        try withIndex { (index) throws(StoreError) in
            try index.withoutTooOld(index.entries(for: key, variant: variant))
        }
    }

    /// The entry with that very variant; nil when there is none.
    public func entry(for key: EntryKey, variant: String) throws(StoreError) -> StoredEntry? {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().entry(of: key, variant: variant).map { index.withoutTooOld([$0]) }?.first
        }
    }

    /// Notes that an entry was used. Written in batches; the order of use decides what is evicted first.
    public func touch(_ entry: StoredEntry) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.touch(entry.id) }
    }

    // MARK: Changing

    /// Replaces an entry's metadata, which is a change of its resource.
    ///
    /// - Parameter variant: the entry's variant from now on, in place of another entry that has it; nil: as it was.
    /// - Returns: The resource's generation afterwards; `nil` when the entry is gone.
    @discardableResult
    public func updateMetadata(
        of entry: StoredEntry, _ metadata: [UInt8], variant: String? = nil
    ) throws(StoreError) -> Generation? {
        try withIndex { (index) throws(StoreError) in
            try index.updateMetadata(entry, metadata, variant: variant).map { (noted) throws(StoreError) in
                try index.settled(noted)
            }
        }
    }

    /// Removes one entry, and is no invalidation: the resource stands as it stood, as after an eviction. Whoever reads its body
    /// keeps it. False if it was gone.
    @discardableResult
    public func remove(_ entry: StoredEntry) throws(StoreError) -> Bool {
        try remove(ids: [entry.id]) > 0
    }

    /// Removes all variants of a key and its idle partials, and is no invalidation; returns how many entries it was.
    @discardableResult
    public func remove(_ key: EntryKey) throws(StoreError) -> Int {
        try withIndex { (index) throws(StoreError) in
            index.tidyPartialsOnce()
            let count = try index.remove(index.catalogue().entries(of: key).map(\.id))
            for row in try index.catalogue().partials(of: key) { _ = try index.dropIfIdle(row) }
            return count
        }
    }

    /// Deletes the file of a removed entry that was still being read. What fails here is left to the next sweep.
    func deleteDoomed(_ entry: StoredEntry) {
        _ = try? withIndex { (index) throws(StoreError) in try index.deleteDoomed([entry.id]) }
    }

    func remove(ids: [Int64]) throws(StoreError) -> Int {
        try withIndex { (index) throws(StoreError) in try index.remove(ids) }
    }

    // MARK: Bodies

    /// A writer for a new body of the key. It has claimed an idle partial of that key if there was one: see
    /// ``BodyWriter/held``. To verify a large one's blocks it is read once, here.
    public func beginBody(for key: EntryKey) throws(StoreError) -> BodyWriter {
        let claimed = ClaimedPartial()
        try withIndex { (index) throws(StoreError) in
            index.tidyPartialsOnce()
            claimed.partial = try index.claimPartial(for: key)
        }
        return try BodyWriter(key: key, store: self, partial: claimed.partial)
    }

    /// Carries a partial out of the index's lock.
    private final class ClaimedPartial {
        var partial: Partial?
    }
}

extension Index {
    func remove(_ ids: [Int64]) throws(StoreError) -> Int {
        if ids.isEmpty { return 0 }
        let removed = try change { (totals) throws(StoreError) in
            var removed: [Int64] = []
            for id in ids where try doom(id, &totals) { removed.append(id) }
            return removed
        }
        try deleteDoomed(removed)
        return removed.count
    }
}
