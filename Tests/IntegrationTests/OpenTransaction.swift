import CSQLite
import TestSupport

/// An open transaction in a store's index, as a process has it that is stopped in one.
final class OpenTransaction {
    private var database: OpaquePointer?

    init(in cache: String) throws {
        guard sqlite3_open(cache + "/index.sqlite", &database) == SQLITE_OK,
            sqlite3_exec(database, "BEGIN IMMEDIATE; UPDATE totals SET swept = 0", nil, nil, nil) == SQLITE_OK
        else { throw TestSetupFailure("no transaction: \(String(cString: sqlite3_errmsg(database)))") }
    }

    func end() {
        sqlite3_close(database)
        database = nil
    }

    deinit { end() }
}
