import CLinux
import Glibc
import Logging

extension Index {
    /// Makes sure that `connection` is open on the index that lies in the directory now.
    ///
    /// Someone may have deleted the directory under us, or another process may have moved a damaged index aside: then
    /// what we hold open is nobody's any more, and we go on with what is there (or with a new one).
    func ensureOpen() throws(StoreError) {
        if isClosed { throw StoreError(.closed, "the store is closed", path: paths.root) }
        if connection != nil {
            if let status = FileStatus(at: paths.index), status.identity == identity { return }
            logger.warning(
                "the cache directory was replaced; going on with the new one", metadata: ["path": "\(paths.root)"])
            forget()
        }
        if configuration.isReadOnly {
            try openForReading()
        } else {
            try openForWriting()
        }
        if configuration.capacity == nil { limitToFreeSpace() }
        if !configuration.isReadOnly {
            let pages = budget.checkpointPages
            try database().execute(
                """
                PRAGMA wal_autocheckpoint = \(pages); PRAGMA journal_size_limit = \(pages * Budget.frame);
                """)
        }
        countAside()
    }

    func countAside() {
        asideBytes =
            (FileStatus(at: paths.asideIndex)?.allocated ?? 0) + (FileStatus(at: paths.asideLog)?.allocated ?? 0)
    }

    private func forget() {
        connection = nil
        identity = nil
        _ = accesses.take()
        folderSizes.removeAll()
    }

    private func openForWriting() throws(StoreError) {
        do throws(StoreError) {
            if try use(Connection(path: paths.index), create: false) { return }
        } catch  where error.code == .damaged || error.code == .io {
            // Handled below, under the lock.
        }
        try createDirectories()
        // Creating and replacing an index is for one process at a time.
        let locks = try File(paths.locks, O_RDWR | O_CREAT, mode: 0o600)
        defer { withExtendedLifetime(locks) {} }  // Or it might be closed, and unlocked, after its last use.
        if clinux_lock_byte_waiting(locks.descriptor, LockByte.index) != 0 {
            logger.debug("the lock file does not lock", metadata: ["path": "\(paths.locks)"])
        }
        do throws(StoreError) {
            if try use(Connection(path: paths.index), create: true) { return }
            throw StoreError(.damaged, "the index is of another program or of a newer version", path: paths.index)
        } catch  where error.code == .damaged {
            connection = nil
            logger.warning("\(error.message); starting with an empty one", metadata: ["path": "\(paths.index)"])
            try moveAside()
            if try !use(Connection(path: paths.index), create: true, hasStrangers: true) {
                throw StoreError(.damaged, "the index could not be rebuilt", path: paths.index)
            }
        }
    }

    /// Takes the connection if its index is ours. False if it is not, or empty and not to be created.
    private func use(_ connection: Connection, create: Bool, hasStrangers: Bool = false) throws(StoreError) -> Bool {
        if connection.isReadOnly {
            throw StoreError(.notWritable, "the index may not be written", path: paths.index)
        }
        let setUp = "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;"
        let application = try connection.number("PRAGMA application_id")
        let version = try connection.number("PRAGMA user_version")
        if application == 0 && version == 0 {
            guard create, try connection.number("SELECT count(*) FROM sqlite_master") == 0 else { return false }
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; " + setUp)
            let holdsBodies = try holdsBodies()
            try self.create(connection, hasStrangers: hasStrangers || holdsBodies)
        } else if application == Schema.applicationID && version == Schema.version {
            try connection.execute(setUp)
        } else {
            return false
        }
        self.connection = connection
        identity = FileStatus(at: paths.index)?.identity
        _ = try readTotals()
        return true
    }

    private func create(_ connection: Connection, hasStrangers: Bool) throws(StoreError) {
        // Numbers start at a random place: bodies of a lost index may still lie there under theirs.
        let firstNumber = Int64.random(in: 0..<(1 << 30)) << 20
        try connection.execute(
            """
            BEGIN IMMEDIATE;
            \(Schema.tables)
            INSERT INTO totals VALUES (1, 0, 0, 0, 0, 0, \(firstNumber), 1, 0, \(hasStrangers ? 1 : 0));
            PRAGMA application_id = \(Schema.applicationID);
            PRAGMA user_version = \(Schema.version);
            COMMIT;
            """)
    }

    /// Whether there is something that a new index would not count.
    private func holdsBodies() throws(StoreError) -> Bool {
        var found = false
        try forEachName(in: paths.bodies) { _ in found = true }
        try forEachName(in: paths.partials) { _ in found = true }
        return found
    }

    private func createDirectories() throws(StoreError) {
        try Self.createFolder(paths.root, withParents: true)
        try Self.createFolder(paths.bodies)
        try Self.createFolder(paths.partials)
        if FileStatus(at: paths.tag) == nil {
            let tag = try File(paths.tag, O_WRONLY | O_CREAT, mode: 0o600)
            var text =
                "Signature: 8a477f597d28d172789f06886806bc55\n# This is a cache of imgcache. See https://bford.info/cachedir/\n"
            let error = text.withUTF8 { bytes -> StoreError? in
                do throws(StoreError) {
                    try tag.write(UnsafeRawBufferPointer(bytes), at: 0)
                    return nil
                } catch { return error }
            }
            if let error { throw error }
        }
    }

    static func createFolder(_ path: String, withParents: Bool = false) throws(StoreError) {
        if mkdir(path, 0o700) == 0 { return }
        let number = errno
        if number == EEXIST {
            var status = stat()
            if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
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

    /// Called when a statement found the index damaged while it was in use.
    func rebuild(because error: StoreError) throws(StoreError) {
        if configuration.isReadOnly { throw error }
        logger.warning("\(error.message); starting with an empty one", metadata: ["path": "\(paths.index)"])
        let damaged = identity
        forget()
        do {
            let locks = try File(paths.locks, O_RDWR | O_CREAT, mode: 0o600)
            defer { withExtendedLifetime(locks) {} }
            _ = clinux_lock_byte_waiting(locks.descriptor, LockByte.index)
            // Unless another process has done it already.
            if let status = FileStatus(at: paths.index), status.identity == damaged { try moveAside() }
            // The empty folder of the moved index must not pass for a fresh directory, so it is made under the lock.
            if try use(Connection(path: paths.index), create: true, hasStrangers: true) { return }
        }
        throw StoreError(.damaged, "the index could not be rebuilt", path: paths.index)
    }

    /// Moves index and log away; a large one is deleted, for it would count in the capacity.
    private func moveAside() throws(StoreError) {
        unlink(paths.sharedMemory)
        unlink(paths.asideLog)
        let size = (FileStatus(at: paths.index)?.allocated ?? 0) + (FileStatus(at: paths.log)?.allocated ?? 0)
        if size > budget.capacity / 16 {
            unlink(paths.log)
            if unlink(paths.index) != 0, errno != ENOENT { throw .system("cannot delete the index", path: paths.index) }
            return
        }
        rename(paths.log, paths.asideLog)
        if rename(paths.index, paths.asideIndex) != 0, errno != ENOENT {
            throw .system("cannot move the index aside", path: paths.index)
        }
    }

    // MARK: Reading only

    private func openForReading() throws(StoreError) {
        guard FileStatus(at: paths.index) != nil else {
            throw StoreError(.notWritable, "there is no index, and none may be created", path: paths.index)
        }
        do throws(StoreError) {
            try useForReading(Connection(path: paths.index, readOnly: true))
        } catch {
            // Without a log's shared memory, and no right to create it, SQLite reads only what it may take as immutable.
            connection = nil
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

    private func useForReading(_ connection: Connection) throws(StoreError) {
        guard try connection.number("PRAGMA application_id") == Schema.applicationID,
            try connection.number("PRAGMA user_version") == Schema.version
        else { throw StoreError(.damaged, "the index is of another program or version", path: paths.index) }
        self.connection = connection
        identity = FileStatus(at: paths.index)?.identity
        _ = try readTotals()
    }

    // MARK: Closing

    /// Pages in the log above which a close copies them into the index, so that the next open need not read them.
    private static let logWorthCheckpoint: Int64 = 64

    func close() {
        if let connection, !configuration.isReadOnly {
            try? flush()
            if let log = FileStatus(at: paths.log), log.size > Self.logWorthCheckpoint * Budget.frame {
                connection.setBusyTimeout(milliseconds: 0)
                try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            }
        }
        connection = nil
        isClosed = true
    }

    /// The default capacity never takes more than half of what the disk has for it.
    private func limitToFreeSpace() {
        guard let free = FileStatus.freeSpace(at: paths.root), let totals = try? readTotals() else { return }
        let half = (free + totals.counted) / 2
        let capacity = min(StoreConfiguration.defaultCapacity, max(half, StoreConfiguration.minimumCapacity))
        if capacity != budget.capacity { budget = Budget(capacity: capacity) }
    }
}
