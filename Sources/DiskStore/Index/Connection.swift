import CSQLite
import Glibc

/// A SQLite connection: a thin wrapper without knowledge of the schema.
///
/// Opened without SQLite's own mutexes: the owner ensures that one thread at a time uses it (here `Locked<Index>`).
/// Each call is synchronous and short.
final class Connection {
    let path: String
    private let handle: OpaquePointer
    /// The calls of the file without those for shared memory; `nil` if it may be used.
    private let calls: UnsafeMutablePointer<sqlite3_io_methods>?
    private(set) var statements: [Query: Statement] = [:]

    /// Opens an existing file, and never creates one.
    ///
    /// - Parameters:
    ///   - uri: The name that SQLite opens; differs from `path` if parameters are needed.
    ///   - sharesMemory: False to never map shared memory: a database with a log then opens only under an exclusive lock.
    init(
        path: String, uri: String? = nil, readOnly: Bool = false, sharesMemory: Bool = true
    ) throws(StoreError) {
        var handle: OpaquePointer?
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        flags |= readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        if uri != nil { flags |= SQLITE_OPEN_URI }
        let result = sqlite3_open_v2(uri ?? path, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            let error = Self.error(result, handle, "cannot open the index", path)
            sqlite3_close_v2(handle)
            throw error
        }
        self.path = path
        self.handle = handle
        calls = sharesMemory ? nil : Self.withoutSharedMemory(handle)
        // Closing must be cheap: a checkpoint takes two fsyncs. `Index.close` decides if one is worthwhile.
        cshim_sqlite3_no_checkpoint_on_close(handle)
        // With partial indexes, SQLite checks the bound values that a plan depends on. It would parse a statement again for each bound
        // value, which takes longer than the look-up itself.
        cshim_sqlite3_stable_plans(handle)
    }

    /// Takes the calls for shared memory away from a connection's file, as from a file system that has none
    /// (https://www.sqlite.org/c3ref/io_methods.html: they belong to version 2).
    private static func withoutSharedMemory(_ handle: OpaquePointer) -> UnsafeMutablePointer<sqlite3_io_methods>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard let file, let methods = file.pointee.pMethods else { return nil }
        let calls = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        calls.initialize(to: methods.pointee)
        calls.pointee.iVersion = 1
        file.pointee.pMethods = UnsafePointer(calls)
        return calls
    }

    /// A copy of the whole database in memory, which can be modified.
    func copyInMemory() throws(StoreError) -> Connection {
        let copy = try Connection(path: path, uri: "file::memory:")
        guard let backup = sqlite3_backup_init(copy.handle, "main", handle, "main") else {
            throw Self.error(sqlite3_errcode(copy.handle), copy.handle, "cannot copy the index", path)
        }
        let result = sqlite3_backup_step(backup, -1)
        sqlite3_backup_finish(backup)
        try check(result, "cannot copy the index")
        return copy
    }

    /// The file that this database in memory would have, with a log or a journal (https://www.sqlite.org/fileformat.html section 1.3.3).
    func serialized(hasLog: Bool) throws(StoreError) -> [UInt8] {
        var size: sqlite3_int64 = 0
        guard let start = sqlite3_serialize(handle, "main", &size, 0) else {
            throw StoreError(.io, "cannot make the index", path: path)
        }
        defer { sqlite3_free(start) }
        var bytes = Array(UnsafeBufferPointer(start: start, count: Int(size)))
        for place in 18...19 where bytes.count > place { bytes[place] = hasLog ? 2 : 1 }
        return bytes
    }

    deinit {
        for statement in statements.values { statement.finalize() }
        sqlite3_close_v2(handle)
        calls?.deallocate()
    }

    /// The persistent statement of a query, prepared on first use, ready for binding.
    func prepared(_ query: Query) throws(StoreError) -> Statement {
        if let statement = statements[query] { return statement }
        let statement = try prepare(query.text, persistent: true)
        statements[query] = statement
        return statement
    }

    func prepare(_ sql: String, persistent: Bool = false) throws(StoreError) -> Statement {
        var statement: OpaquePointer?
        let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        try check(sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil), "cannot read the index")
        guard let statement else { throw StoreError(.io, "an empty statement", path: path) }
        return Statement(statement, of: self)
    }

    /// Runs statements and ignores their rows.
    func execute(_ sql: String) throws(StoreError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), "cannot change the index")
    }

    /// The single number that a statement returns.
    func number(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        defer { statement.finalize() }
        return try statement.step() ? statement.integer(0) : 0
    }

    /// True if SQLite opened the file for reading only, which it does silently if it cannot be written.
    var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
    var changes: Int { Int(sqlite3_changes(handle)) }

    /// The time in milliseconds that a statement waits for another process's lock. Initially 0.
    var busyTimeout: Int32 = 0 {
        didSet { if busyTimeout != oldValue { sqlite3_busy_timeout(handle, busyTimeout) } }
    }

    func check(_ result: Int32, _ action: String) throws(StoreError) {
        if result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW {
            if calls != nil, result & 0xFF == SQLITE_CANTOPEN {
                throw StoreError(.busy, "another machine, to which the disk is local, has the index open", path: path)
            }
            throw Self.error(result, handle, action, path)
        }
    }

    private static func error(_ result: Int32, _ handle: OpaquePointer?, _ action: String, _ path: String) -> StoreError
    {
        let reason = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(result))
        let number = handle.map { sqlite3_system_errno($0) } ?? 0
        let code = code(of: result, number)
        if code == .full { return StoreError(code, "\(action): the disk is full", path: path) }
        if result & 0xFF == SQLITE_CANTOPEN, number != 0 { return StoreError(code, action, path: path, errno: number) }
        return StoreError(code, "\(action): \(reason) (SQLite \(result))", path: path)
    }

    /// SQLITE_IOERR_SHORT_READ: the file ends before a page that should exist, for example because its log was deleted.
    private static let shortRead = SQLITE_IOERR | 2 << 8

    private static func code(of result: Int32, _ number: Int32) -> StoreError.Code {
        switch result & 0xFF {
        case SQLITE_IOERR where result == shortRead: .damaged
        case SQLITE_FULL: .full
        case SQLITE_IOERR where number == ENOSPC || number == EDQUOT: .full
        case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .notWritable
        case SQLITE_CANTOPEN where number == EACCES || number == EROFS || number == EPERM: .notWritable
        default: .io
        }
    }
}
