import CSQLite

/// A prepared statement. Indices are SQLite's: parameters start at 1, columns at 0.
final class Statement {
    private let handle: OpaquePointer
    private unowned let connection: Connection

    init(_ handle: OpaquePointer, of connection: Connection) {
        self.handle = handle
        self.connection = connection
    }

    func finalize() { sqlite3_finalize(handle) }

    /// Advances to the next row; false if there is none.
    func step() throws(StoreError) -> Bool {
        let result = sqlite3_step(handle)
        if result == SQLITE_ROW { return true }
        if result == SQLITE_DONE { return false }
        let error: StoreError
        do throws(StoreError) {
            try connection.check(result, "the index failed")
            error = StoreError(.io, "the index failed", path: connection.path)
        } catch let failure {
            error = failure
        }
        sqlite3_reset(handle)
        throw error
    }

    /// Runs to the end and resets the statement for its next use.
    func run() throws(StoreError) {
        defer { reset() }
        while try step() {}
    }

    func reset() { sqlite3_reset(handle) }

    @discardableResult
    func bind(_ index: Int32, _ value: Int64) -> Statement {
        sqlite3_bind_int64(handle, index, value)
        return self
    }

    /// NULL for nil.
    @discardableResult
    func bind(_ index: Int32, _ value: Int64?) -> Statement {
        guard let value else {
            sqlite3_bind_null(handle, index)
            return self
        }
        return bind(index, value)
    }

    /// NULL for nil.
    @discardableResult
    func bind(_ index: Int32, _ value: String?) -> Statement {
        guard let value else {
            sqlite3_bind_null(handle, index)
            return self
        }
        return bind(index, value)
    }

    @discardableResult
    func bind(_ index: Int32, _ value: String) -> Statement {
        var value = value
        value.withUTF8 { text in
            // An empty buffer may have no address, which would mean NULL.
            guard let start = text.baseAddress, !text.isEmpty else {
                _ = sqlite3_bind_text(handle, index, "", 0, Self.copied)
                return
            }
            start.withMemoryRebound(to: CChar.self, capacity: text.count) { start in
                _ = sqlite3_bind_text(handle, index, start, Int32(text.count), Self.copied)
            }
        }
        return self
    }

    @discardableResult
    func bind(_ index: Int32, _ value: [UInt8]?) -> Statement {
        if let value { return bind(index, value) }
        sqlite3_bind_null(handle, index)
        return self
    }

    @discardableResult
    func bind(_ index: Int32, _ value: [UInt8]) -> Statement {
        value.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress, !bytes.isEmpty {
                _ = sqlite3_bind_blob(handle, index, start, Int32(bytes.count), Self.copied)
            } else {
                _ = sqlite3_bind_zeroblob(handle, index, 0)
            }
        }
        return self
    }

    @discardableResult
    func bind(_ index: Int32, _ value: Checksum) -> Statement {
        value.withBytes { bytes in
            _ = sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count), Self.copied)
        }
        return self
    }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func bytes(_ column: Int32) -> [UInt8] { Array(blob(column)) }

    func checksum(_ column: Int32) -> Checksum { Checksum(blob(column)) }

    private func blob(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    /// SQLITE_TRANSIENT, a macro that Swift does not import: SQLite copies the bytes before the call returns.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
