import CLinux
import Glibc
import Logging

extension Index {
    /// Ensures that the catalogue is open on the current index of the directory.
    ///
    /// The directory may have been deleted, or another process may have renamed a damaged index. The open index is then obsolete, and the
    /// current (or a new) one is opened.
    ///
    /// - Parameter interval: The milliseconds for which a check of the directory stays valid; 0 for a change.
    func ensureOpen(seenWithin interval: Int64 = 20) throws(StoreError) {
        if isClosed { throw StoreError(.closed, "the store is closed", path: paths.root) }
        if openCatalogue != nil {
            if isInPlace(seenWithin: interval) {
                if let changed = announcedCapacity { setCapacity(changed) }
                return
            }
            logger.warning(
                "the cache directory was replaced; going on with the new one", metadata: ["path": "\(paths.root)"])
            forget()
        }
        if configuration.isReadOnly {
            try openForReading()
        } else {
            try openForWriting()
        }
        try resolveCapacity()
        countAside()
    }

    private func isInPlace(seenWithin interval: Int64) -> Bool {
        let now = CoarseClock.now
        if now - seen < interval { return true }
        guard let status = FileStatus(at: paths.index), status.identity == identity else { return false }
        seen = now
        return true
    }

    func countAside() {
        asideBytes = 0
        for number in Paths.asides {
            guard let status = FileStatus(at: paths.aside(number)) else { continue }
            asideBytes += status.allocated + (FileStatus(at: paths.asideLog(number))?.allocated ?? 0)
        }
    }

    private func forget() {
        openCatalogue = nil
        identity = nil
        seen = 0
        lastPartial = nil
        _ = accesses.take()
        folderSizes.removeAll()
        run = nil
        announcedCapacity = nil
    }

    private func openForWriting() throws(StoreError) {
        let isThere = try checkOwnership()
        if !isThere && !configuration.createsDirectory { throw absent }
        do throws(StoreError) {
            if hasFilesOnly, try use(connection(), create: false) { return try createMissingFolders() }
        } catch  where error.code == .damaged || error.code == .io {
            // Handled below, under the lock.
        }
        try createDirectories()
        if isVacant {
            try createIndex(hasUncountedFiles: false)
            if try use(connection(), create: false) { return }
        }
        // Only one process at a time replaces or migrates an index.
        let locks = try indexLock()
        defer { withExtendedLifetime(locks) {} }  // Otherwise it may be closed, and unlocked, after its last use.
        try clearLogPlaces()
        do throws(StoreError) {
            if try use(createdIndex(), create: true) { return }
            throw StoreError(.damaged, "the index is of another program or version", path: paths.index)
        } catch  where error.code == .damaged || error.code == .io && !hasFilesOnly {
            openCatalogue = nil
            try moveAside(because: error)
            if try !use(createdIndex(hasUncountedFiles: true), create: true) {
                throw StoreError(.damaged, "the index could not be rebuilt", path: paths.index)
            }
        }
    }

    /// The right to replace the index.
    ///
    /// - Throws: ``StoreError/Code/busy`` while another process has it: the caller waits without the store's lock.
    private func indexLock() throws(StoreError) -> LockFile? {
        do throws(StoreError) {
            let file = try LockFile(paths.locks)
            switch file.lock(LockByte.index) {
            case .locked: return file
            case .busy:
                throw StoreError(.busy, "another process is repairing or migrating the index", path: paths.index)
            case .unavailable: logger.debug("the lock file does not lock", metadata: ["path": "\(paths.locks)"])
            }
        } catch  where error.isOfOtherKind {
            logger.debug("there is no lock file", metadata: ["error": "\(error)"])
        }
        return nil
    }

    /// True if the paths of the index and its log contain only files.
    private var hasFilesOnly: Bool {
        ([paths.index] + paths.logs).allSatisfy { FileStatus(at: $0)?.isRegular != false }
    }

    /// Removes anything at the log's paths that is not a file. A folder with content is renamed instead.
    private func clearLogPlaces() throws(StoreError) {
        for path in paths.logs where FileStatus(at: path)?.isRegular == false {
            if removeName(path) { continue }
            let isMoved = Paths.asides.contains { clinux_rename_exclusive(path, paths.asideLog($0)) == 0 }
            if !isMoved { throw .system("a folder is in the place of the index's log", path: path) }
        }
    }

    /// True if there is no index, and no log of a deleted one, which would be read as the new one's.
    private var isVacant: Bool {
        ([paths.index] + paths.logs).allSatisfy { FileStatus(at: $0) == nil }
    }

    /// A connection to the index file, which is created if missing. Under the lock: the log of a deleted index that another process still
    /// has open is removed.
    private func createdIndex(hasUncountedFiles: Bool = false) throws(StoreError) -> Connection {
        // The log files are looked for before the index: one that appears later belongs to an index that another process has just created.
        let leftovers = paths.logs.filter { FileStatus(at: $0) != nil }
        let status = FileStatus(at: paths.index)
        if status == nil || status?.isRegular == true && status?.size == 0 {
            for path in leftovers { removeName(path) }
            if status != nil { removeName(paths.index) }
            try createIndex(hasUncountedFiles: hasUncountedFiles)
        }
        guard hasFilesOnly else {
            throw StoreError(.io, "something else is in the place of the index", path: paths.index)
        }
        return try connection()
    }

    private func connection(readOnly: Bool = false) throws(StoreError) -> Connection {
        try Connection(path: paths.index, readOnly: readOnly, sharesMemory: !fileSystem.isShared)
    }

    /// Creates an index with its tables. It gets its name when it is complete, so a process that is stopped or killed meanwhile does not
    /// block others. If several processes create one, the first one wins.
    ///
    /// Only the owner can access it, regardless of the folder's mode, because it contains URLs and header fields. SQLite gives its log and
    /// shared memory the same mode.
    private func createIndex(hasUncountedFiles: Bool) throws(StoreError) {
        let connection = try Connection(path: paths.index, uri: "file::memory:")
        // Numbers start at a random value: bodies of a lost index may still exist.
        let firstNumber = Int64.random(in: 0..<(1 << 30)) << 20
        let holdsBodies = try holdsBodies()
        try Catalogue(connection: connection).createTables(
            firstNumber: firstNumber, hasUncountedFiles: hasUncountedFiles || holdsBodies)
        let new = try SmallBodyFile(in: paths)
        guard fchmod(new.file.descriptor, 0o600) == 0 else { throw .system("cannot set the mode", path: paths.index) }
        try new.file.write(connection.serialized(hasLog: !fileSystem.isShared), at: 0)
        // A power failure must not leave a name without the marks.
        if fsync(new.file.descriptor) != 0 { throw .system("cannot write", path: paths.index) }
        do throws(StoreError) { try new.install(paths.index) } catch  where error.errno == EEXIST {}
    }

    private var absent: StoreError { StoreError(.absent, "there is no cache", path: paths.root) }

    /// Adopts the connection if the index is valid.
    ///
    /// - Parameter create: True under the lock, where an older version is migrated.
    /// - Returns: False for an index of another program, or for one that is to be migrated under the lock.
    /// - Throws: ``StoreError/Code/newer``.
    private func use(_ connection: Connection, create: Bool) throws(StoreError) -> Bool {
        if connection.isReadOnly {
            let reason =
                FileStatus.isReadOnly(at: paths.root) ? "the file system is read-only" : "the index may not be written"
            throw StoreError(.notWritable, reason, path: paths.index)
        }
        let catalogue = Catalogue(connection: connection)
        let isShared = fileSystem.isShared
        if isShared {
            try (try? LockFile(paths.locks))?.requireRecordLocks(of: fileSystem, for: paths.index)
            try catalogue.beginAlone()
        }
        let (application, version) = try catalogue.marks()
        guard application == Schema.applicationID else { return false }
        if version == Schema.version {
            try catalogue.configure(hasLog: !isShared)
        } else if SchemaMigration.versions.contains(version) {
            guard create else { return false }
            try catalogue.configure(hasLog: !isShared)
            try migrate(catalogue, from: version)
        } else if version > Schema.version, !configuration.discardsNewer {
            throw newer(version)
        } else {
            return false
        }
        openCatalogue = catalogue
        identity = FileStatus(at: paths.index)?.identity
        _ = try readTotals()
        try scrubIfPending()
        return true
    }

    private func newer(_ version: Int64) -> StoreError {
        StoreError(
            .newer,
            "\(paths.root): made by a newer imgcache (format \(version), this one knows \(Schema.version)); update this one, or use "
                + "another directory", path: paths.root)
    }

    /// True if there are files that a new index would not count.
    private func holdsBodies() throws(StoreError) -> Bool {
        var found = false
        try forEachName(in: paths.bodies) { _ in found = true }
        try forEachName(in: paths.partials) { _ in found = true }
        return found
    }

    /// A deletion during the run of a process may have left the index without the folders.
    private func createMissingFolders() throws(StoreError) {
        for folder in [paths.bodies, paths.partials] where FileStatus(at: folder)?.isFolder != true {
            try Self.createFolder(folder)
        }
    }

    private func createDirectories() throws(StoreError) {
        try Self.createFolder(paths.root, withParents: true)
        try writeTag()
        try Self.createFolder(paths.bodies)
        try Self.createFolder(paths.partials)
    }

    static func createFolder(_ path: String, withParents: Bool = false) throws(StoreError) {
        if mkdir(path, 0o700) == 0 { return }
        let number = errno
        if number == EEXIST {
            var status = stat()
            if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
            // A FIFO, socket or device, or a link to nothing, has no content that could be lost.
            if !withParents, FileStatus(at: path)?.isRegular != true, unlink(path) == 0, mkdir(path, 0o700) == 0 {
                return
            }
            throw StoreError(.notWritable, "not a folder", path: path, errno: ENOTDIR)
        }
        if number == ENOENT, withParents, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try createFolder(String(path[..<slash]), withParents: true)
            return try createFolder(path)
        }
        if number == ENOTDIR { throw StoreError(.notWritable, "not a folder", path: path, errno: number) }
        throw .system("cannot create the folder", path: path, errno: number)
    }

    // MARK: Damage

    /// Called if a statement found the index damaged while it was in use.
    func rebuild(because error: StoreError) throws(StoreError) {
        if configuration.isReadOnly { throw error }
        let damaged = identity
        forget()
        do {
            let locks = try indexLock()
            defer { withExtendedLifetime(locks) {} }
            // Unless another process has done so already.
            if let status = FileStatus(at: paths.index), status.identity == damaged { try moveAside(because: error) }
            // The empty folder of the moved index must not be treated as a fresh directory, so the index is created
            // under the lock.
            if try use(createdIndex(hasUncountedFiles: true), create: true) { return }
        }
        throw StoreError(.damaged, "the index could not be rebuilt", path: paths.index)
    }

    /// Moves index and log aside without replacing earlier ones. If they would take a significant part of the capacity,
    /// or there are too many already, they are deleted.
    ///
    /// The index goes first: without its log or its journal it might count as sound. What a kill leaves of the log, the next opening removes.
    private func moveAside(because error: StoreError) throws(StoreError) {
        countAside()
        let size = (FileStatus(at: paths.index)?.allocated ?? 0) + (FileStatus(at: paths.log)?.allocated ?? 0)
        let free = Paths.asides.first { FileStatus(at: paths.aside($0)) == nil }
        guard let free, asideBytes + size <= budget.capacity / 16 else {
            warn(error, "the old one was deleted")
            for path in [paths.index, paths.log] where !removeName(path) {
                throw .system("cannot delete the index", path: path)
            }
            for path in paths.logs { removeName(path) }
            return
        }
        warn(error, "the old one is kept for a week as \(paths.aside(free))")
        removeName(paths.asideLog(free))
        if clinux_rename_exclusive(paths.index, paths.aside(free)) != 0 {
            let number = errno
            if number == ENOENT { return }
            // The file system does not support the flag; every process that moves an index holds the lock.
            guard number == EINVAL || number == ENOSYS, rename(paths.index, paths.aside(free)) == 0 else {
                throw .system("cannot move the index aside", path: paths.index, errno: number)
            }
        }
        rename(paths.log, paths.asideLog(free))
        for path in paths.logs { removeName(path) }
    }

    private func warn(_ error: StoreError, _ consequence: String) {
        logger.warning(
            "\(error.message); starting with an empty one, \(consequence)", metadata: ["path": "\(paths.index)"])
    }

    // MARK: Reading only

    private func openForReading() throws(StoreError) {
        if try !checkOwnership(), !configuration.createsDirectory { throw absent }
        guard FileStatus(at: paths.index)?.isRegular == true else {
            throw StoreError(.notWritable, "there is no index, and none may be created", path: paths.index)
        }
        do throws(StoreError) {
            guard hasFilesOnly else { throw StoreError(.io, "the index has no log", path: paths.index) }
            let connection = try self.connection(readOnly: true)
            if fileSystem.isShared { connection.busyTimeout = Self.waitForReading }
            try useForReading(connection)
        } catch  where error.code != .newer {
            // Without the log's shared memory, and the permission to create it, SQLite reads only files declared
            // immutable.
            openCatalogue = nil
            var escaped = ""
            for byte in paths.index.utf8 {
                let isPlain =
                    byte == 0x2F || byte == 0x2E || byte == 0x2D || byte == 0x5F
                    || (byte >= 0x30 && byte <= 0x39)
                    || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A && byte & 0x40 != 0)
                escaped += isPlain ? String(UnicodeScalar(byte)) : "%" + Paths.hex(Int64(byte), digits: 2)
            }
            let uri = "file:\(escaped)?immutable=1"
            try useForReading(Connection(path: paths.index, uri: uri, readOnly: true))
        }
    }

    /// The time in milliseconds that a reader waits for writers, where the index has no log.
    private static let waitForReading: Int32 = 500

    private func useForReading(_ connection: Connection) throws(StoreError) {
        let (application, version) = try Catalogue(connection: connection).marks()
        if application == Schema.applicationID, version > Schema.version { throw newer(version) }
        guard application == Schema.applicationID, Schema.readableVersions.contains(version) else {
            throw StoreError(.damaged, "the index is of another program or version", path: paths.index)
        }
        openCatalogue = Catalogue(
            connection: version == Schema.version
                ? connection : try SchemaMigration.readableCopy(of: connection, version))
        identity = FileStatus(at: paths.index)?.identity
        _ = try readTotals()
    }

    // MARK: Closing

    /// The number of pages in the log above which closing copies them into the index, so that the next open need not
    /// read them.
    private static let logWorthCheckpoint: Int64 = 64

    /// Access dates, and the end of a run, which others find out by themselves, are not worth a longer wait for another process.
    private static let waitAtEnd = Duration.milliseconds(100)

    func close() {
        // A directory that was deleted meanwhile is not made again.
        if let openCatalogue, !configuration.isReadOnly, isInPlace(seenWithin: 0) {
            allowWaits(Self.waitAtEnd, later: Self.waitAtEnd)
            try? flush()
            try? releaseOwnRun()
            if let log = FileStatus(at: paths.log), log.size > Self.logWorthCheckpoint * Budget.frame {
                openCatalogue.connection.busyTimeout = 0
                _ = try? openCatalogue.emptyLog()
            }
        }
        openCatalogue = nil
        isClosed = true
    }
}
