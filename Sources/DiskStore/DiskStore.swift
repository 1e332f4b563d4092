package import ConcurrencyPrimitives
import FoundationEssentials
import Glibc
import Logging

/// A disk store of bodies by key: bounded, shared by any number of processes, and safe to kill at any instruction.
///
/// The store owns every path below its directory. It is independent of HTTP: an entry's metadata is opaque bytes.
///
/// All calls except ``lock(_:onWait:)`` are synchronous. A look-up takes microseconds and a commit some tens of them;
/// operations over many files (``prune(to:olderThan:dryRun:)``, ``clear(_:)``, ``verify(repair:_:)``, ``sweep(_:)``)
/// work in steps, between which other callers proceed.
package final class DiskStore: Sendable {
    /// The cache directory, as an absolute path.
    package let directory: String
    let configuration: StoreConfiguration
    let paths: Paths
    let index: Locked<Index>
    let keyLocks = KeyLocks()
    /// Changes for the next transaction.
    let waitingChanges = Locked(WaitingChanges())
    /// The bodies of this process that are not entries: see ``BodyWriter/commitTransient(as:)``.
    let transientBodies = Locked(Set<Int64>())
    let generations: Generations
    let fileSystem: FileSystemKind

    /// Opens the directory, which is created (mode 0700) if it does not exist. An existing one must be empty or a
    /// cache, identified by its CACHEDIR.TAG or its index; its mode is preserved, and the files in it are accessible to
    /// their owner only.
    ///
    /// An index that is damaged or of another program is moved aside with a warning and replaced by an empty one. Body folders are not
    /// listed.
    ///
    /// - Throws: ``StoreError/Code/newer``, ``StoreError/Code/busy``, ``StoreError/Code/foreign``, ``StoreError/Code/absent``,
    ///   ``StoreError/Code/notWritable``, ``StoreError/Code/invalidCapacity``, ``StoreError/Code/full``, ``StoreError/Code/io``.
    package init(directory: String, configuration: StoreConfiguration = StoreConfiguration()) throws(StoreError) {
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
        let fileSystem = configuration.fileSystem(self.directory)
        self.fileSystem = fileSystem
        let generations = Generations(
            paths: paths, isReadOnly: configuration.isReadOnly, isMapped: !fileSystem.isShared)
        self.generations = generations
        index = Locked(
            Index(paths: paths, configuration: configuration, generations: generations, fileSystem: fileSystem))
        try withIndex { (_) throws(StoreError) in }
        if fileSystem.isShared { warnOfSharedFileSystem() }
    }

    /// The directories that this process has warned of.
    private static let warned = Locked<Set<String>>([])

    private func warnOfSharedFileSystem() {
        guard Self.warned.withLock({ $0.insert(directory).inserted }) else { return }
        configuration.logger.warning(
            "the cache is on \(fileSystem.name), which other machines may use too: its index has a rollback journal and no shared memory, which is slower",
            metadata: ["path": "\(directory)"])
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

    /// Runs `body` on the open index; if the index turns out to be damaged, once more on an empty one.
    ///
    /// While another process keeps the index from being changed, `body` is run again and again, as long as it has changed nothing. Other
    /// threads use the index in between.
    ///
    /// - Parameter patience: The time to wait for other processes; `nil`: ``StoreConfiguration/busyTimeout``.
    /// - Throws: ``StoreError/Code/busy`` after that time.
    func withIndex<Result: Sendable>(
        waitingFor patience: Duration? = nil, _ body: (Index) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let patience = min(patience ?? .seconds(1 << 40), configuration.busyTimeout)
        var wait = BusyWait()
        while true {
            let result = try index.withLock { (index) throws(StoreError) -> Result? in
                index.beginCall()
                do throws(StoreError) {
                    try index.ensureOpen()
                    index.beginCall()
                    do throws(StoreError) {
                        return try body(index)
                    } catch  where error.code == .damaged {
                        try index.rebuild(because: error)
                        return try body(index)
                    }
                } catch  where error.code == .busy {
                    if index.mayTryAgain(within: patience, since: wait.began) { return nil }
                    throw StoreError(
                        .busy, "another process keeps the index locked; it may be stopped", path: paths.index)
                }
            }
            if let result { return result }
            wait.pause()
        }
    }

    /// The pauses between attempts to change an index that another process is changing.
    private struct BusyWait {
        let began = ContinuousClock.now
        private var next: UInt32 = 500

        /// From 0.5 ms to 25 ms.
        mutating func pause() {
            usleep(next)
            next = min(next * 2, 25_000)
        }
    }

    /// Makes the directory again if it was deleted meanwhile.
    func recreateDirectory() throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.ensureOpen(seenWithin: 0) }
    }

    /// Writes pending access dates.
    package func flush() throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.flush() }
    }

    /// Throws the error that a change of the store would throw now: it is closed, the index cannot be written, or the
    /// disk has no space for a small body. Changes nothing.
    package func checkWritable() throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.change { (_) throws(StoreError) in } }
        let probe = try SmallBodyFile(in: paths)
        try withUnsafeBytes(of: SIMD64<UInt64>(repeating: 1)) { (bytes) throws(StoreError) in try probe.write(bytes) }
    }

    /// Writes pending access dates, deletes the files of bodies that must not be stored, and closes the index. Open bodies remain readable; every
    /// later call throws ``StoreError/Code/closed``.
    package func close() {
        // A process may end before it releases them. The next sweep deletes their rows.
        for id in transientBodies.withLock({ $0 }) { unlink(paths.body(id)) }
        index.withLock { $0.close() }
    }

    /// The limit of the directory's size in bytes: the configured capacity, or the default for this disk.
    package var capacity: Int64 { index.withLock { $0.budget.capacity } }

    /// The path of an entry's body, which may be evicted at any time; ``open(_:)`` returns one that remains.
    package func path(of entry: StoredEntry) -> String { paths.body(entry.id) }

    // MARK: Reading

    /// All variants that are stored under a key, with their metadata.
    ///
    /// - Parameter withAccess: True to include the times of last use, which slow a look-up down.
    package func entries(for key: EntryKey, withAccess: Bool = false) throws(StoreError) -> [StoredEntry] {
        try withIndex { (index) throws(StoreError) in
            try index.withoutTooOld(index.catalogue().entries.variants(of: key, withAccess: withAccess))
        }
    }

    /// The entries whose bodies have a SHA-256, as far as it is known (``NewEntry/sha256``): at most 16.
    package func entries(sha256: [UInt8]) throws(StoreError) -> [StoredEntry] {
        try withIndex { (index) throws(StoreError) in
            try index.withoutTooOld(index.catalogue().entries.entries(sha256: sha256, limit: 16))
        }
    }

    /// The variants of a key that may be used for a request.
    ///
    /// - Parameter variant: Maps the part of a variant before the line break to the wanted variant. A key may have many
    ///   variants; only these are read, and one of each group that lacks the wanted one.
    package func entries(
        for key: EntryKey, variant: (_ group: Substring) -> String
    ) throws(StoreError) -> [StoredEntry] {
        try withIndex { (index) throws(StoreError) in
            try index.withoutTooOld(index.entries(for: key, variant: variant))
        }
    }

    /// The variants of several keys, each as in ``entries(for:variant:)``, read from the index in one query.
    package func entries(
        for keys: [(key: EntryKey, variant: (_ group: Substring) -> String)]
    ) throws(StoreError) -> [[StoredEntry]] {
        try withIndex { (index) throws(StoreError) in
            try index.reading { () throws(StoreError) in
                var found: [[StoredEntry]] = []
                for (key, variant) in keys {
                    found.append(try index.withoutTooOld(index.entries(for: key, variant: variant)))
                }
                return found
            }
        }
    }

    /// The entry with exactly that variant; nil if there is none.
    package func entry(for key: EntryKey, variant: String) throws(StoreError) -> StoredEntry? {
        try withIndex { (index) throws(StoreError) in
            let entry = try index.catalogue().entries.entry(of: key, variant: variant)
            return try index.withoutTooOld(entry.map { [$0] } ?? []).first
        }
    }

    /// Records the use of an entry. Written in batches; the order of use determines the order of eviction.
    package func touch(_ entry: StoredEntry) throws(StoreError) { try touch([entry]) }

    /// Records the use of several entries.
    package func touch(_ entries: [StoredEntry]) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            for entry in entries { try index.touch(entry.id) }
        }
    }

    // MARK: Changing

    /// Replaces an entry's metadata, which counts as a change of its resource.
    ///
    /// - Parameter variant: The entry's new variant, replacing another entry that has it; nil: unchanged.
    /// - Returns: The resource's generation afterwards; `nil` if the entry no longer exists.
    @discardableResult
    package func updateMetadata(
        of entry: StoredEntry, _ metadata: [UInt8], variant: String? = nil
    ) throws(StoreError) -> Generation? {
        try perform([Index.updateMetadata(of: entry, metadata, variant: variant, holds: false)])[0].get()
    }

    /// Replaces an entry's metadata, as ``updateMetadata(of:_:variant:)``, in one transaction with the changes that others have ready at
    /// the same time.
    ///
    /// - Parameter holds: True to hold the entry's body from then on, if the store holds bodies.
    package func updateMetadata(
        of entry: StoredEntry, _ metadata: [UInt8], variant: String? = nil, holds: Bool, on executor: BlockingExecutor
    ) async throws(StoreError) -> Generation? {
        let holds = holds && configuration.holdsBodies
        return try await perform(
            Index.updateMetadata(of: entry, metadata, variant: variant, holds: holds), on: executor)
    }

    /// Removes one entry without invalidating its resource, like an eviction. Readers of its body keep it. Returns
    /// false if it did not exist.
    @discardableResult
    package func remove(_ entry: StoredEntry) throws(StoreError) -> Bool {
        try remove(ids: [entry.id]) > 0
    }

    /// Removes all variants of a key and its idle partials, without invalidating the resource; returns the number of
    /// entries.
    @discardableResult
    package func remove(_ key: EntryKey) throws(StoreError) -> Int {
        try withIndex { (index) throws(StoreError) in
            index.recoverPartialsOnce()
            let count = try index.remove(index.catalogue().entries.variants(of: key).map(\.id))
            for row in try index.catalogue().partials.partials(of: key) { _ = try index.dropIfIdle(row) }
            return count
        }
    }

    /// Deletes a body that is not an entry, and is not read any more. On failure, the next sweep deletes it.
    func deleteTransient(_ entry: StoredEntry) {
        transientBodies.withLock { _ = $0.remove(entry.id) }
        _ = try? withIndex { (index) throws(StoreError) in try index.deleteDoomed([entry.id]) }
    }

    func remove(ids: [Int64]) throws(StoreError) -> Int {
        try withIndex { (index) throws(StoreError) in try index.remove(ids) }
    }

    // MARK: Bodies

    /// Returns a writer for a new body of the key, which has claimed an idle partial of that key if there was one: see
    /// ``BodyWriter/held``. A large one is read once to verify its blocks.
    package func beginBody(for key: EntryKey) throws(StoreError) -> BodyWriter {
        try BodyWriter(key: key, store: self, partial: claimPartial(for: key))
    }

    /// Claims an idle partial of the key, if there is one. Its blocks are not verified yet.
    func claimPartial(for key: EntryKey) throws(StoreError) -> Partial? {
        let claimed = ClaimedPartial()
        try withIndex { (index) throws(StoreError) in
            index.recoverPartialsOnce()
            claimed.partial = try index.claimPartial(for: key)
            if claimed.partial == nil, fileSystem.isShared { claimed.elsewhere = try index.partialElsewhere(of: key) }
        }
        // Without room for a copy, the body is fetched from its start.
        if let elsewhere = claimed.elsewhere { return (try? copyPartial(elsewhere)) ?? nil }
        return claimed.partial
    }

    /// Transfers a partial out of the index's lock.
    private final class ClaimedPartial {
        var partial: Partial?
        /// One that can only be copied.
        var elsewhere: PartialRow?
    }
}

extension Index {
    func remove(_ ids: [Int64]) throws(StoreError) -> Int {
        ids.isEmpty ? 0 : try removeCounted(ids).entries
    }
}
