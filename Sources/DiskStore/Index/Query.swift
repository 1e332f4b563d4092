/// The text of a statement on the index. A connection prepares each text once.
///
/// The statements of look-ups and commits are constants, whose text is hashed once.
struct Query: Hashable, ExpressibleByStringInterpolation {
    let text: String
    private let textHash: Int

    init(stringLiteral text: String) {
        self.text = text
        var hasher = Hasher()
        hasher.combine(text)
        textHash = hasher.finalize()
    }

    func hash(into hasher: inout Hasher) { hasher.combine(textHash) }
}

/// A part of the index that runs statements: a table, or the catalogue of them.
///
/// A statement reads or writes rows and makes no decisions. Files, sums, transactions and decisions belong to the callers.
protocol StatementRunner {
    var connection: Connection { get }
}

extension StatementRunner {
    func run(_ query: Query, _ bind: (Statement) -> Void = { _ in }) throws(StoreError) {
        let statement = try connection.prepared(query)
        bind(statement)
        try statement.run()
    }

    /// The first row of a query; nil if there is none.
    func first<Row>(
        _ query: Query, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> Row? {
        let statement = try connection.prepared(query)
        bind(statement)
        defer { statement.reset() }
        return try statement.step() ? row(statement) : nil
    }

    /// The rows of a query.
    func rows<Row>(
        _ query: Query, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> [Row] {
        let statement = try connection.prepared(query)
        bind(statement)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() { rows.append(row(statement)) }
        return rows
    }

    /// Deletes a row by its number.
    ///
    /// Selected and deleted instead of `DELETE … RETURNING`, for whose rows SQLite makes a temporary table.
    ///
    /// - Parameter size: The query for a size in the row.
    /// - Returns: That size; nil if there was no row.
    func delete(_ query: Query, _ id: Int64, size: Query) throws(StoreError) -> Int64? {
        guard let bytes = try first(size, { $0.bind(1, id) }, row: { $0.integer(0) }) else { return nil }
        try run(query) { $0.bind(1, id) }
        return bytes
    }
}
