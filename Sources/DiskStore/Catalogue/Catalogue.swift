/// The tables of the index behind typed statements: SQL stands in this folder and nowhere else.
///
/// A statement reads or writes rows and decides nothing. Files, sums, transactions and decisions are the callers'.
struct Catalogue {
    let connection: Connection

    // MARK: Transactions

    func begin() throws(StoreError) { try run(.begin) }

    func commit() throws(StoreError) { try run(.commit) }

    /// Takes a transaction back that is still open: after some errors (a full disk) SQLite has done it by itself.
    func rollBack() {
        if connection.isInTransaction { try? run(.rollback) }
    }

    // MARK: Totals

    func totals() throws(StoreError) -> Totals {
        guard let totals = try first(.totals, row: Totals.init) else {
            throw StoreError(.damaged, "the index has lost its totals", path: connection.path)
        }
        return totals
    }

    func save(_ totals: Totals) throws(StoreError) { try run(.saveTotals) { totals.bind(to: $0) } }

    // MARK: Folders

    /// The size that a folder was counted with.
    func size(ofFolder folder: Int64) throws(StoreError) -> Int64? {
        try first(.folder, { $0.bind(1, folder) }, row: { $0.integer(0) })
    }

    func save(size: Int64, ofFolder folder: Int64) throws(StoreError) {
        try run(.saveFolder) { $0.bind(1, folder).bind(2, size) }
    }

    // MARK: Settings

    /// The remembered value; nil when there is none.
    func setting(_ setting: StoreSetting) throws(StoreError) -> Int64? {
        try first(.setting, { $0.bind(1, setting.rawValue) }, row: { $0.integer(0) })
    }

    /// Remembers a value, or forgets it.
    func save(_ setting: StoreSetting, _ value: Int64?) throws(StoreError) {
        if let value {
            try run(.saveSetting) { $0.bind(1, setting.rawValue).bind(2, value) }
        } else {
            try run(.deleteSetting) { $0.bind(1, setting.rawValue) }
        }
    }

    // MARK: Statements

    func run(_ query: Query, _ bind: (Statement) -> Void = { _ in }) throws(StoreError) {
        let statement = try connection.prepared(query)
        bind(statement)
        try statement.run()
    }

    /// The first of the rows that a query gives; nil when there are none.
    func first<Row>(
        _ query: Query, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> Row? {
        let statement = try connection.prepared(query)
        bind(statement)
        defer { statement.reset() }
        return try statement.step() ? row(statement) : nil
    }

    func all<Row>(
        _ query: Query, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> [Row] {
        let statement = try connection.prepared(query)
        bind(statement)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() { rows.append(row(statement)) }
        return rows
    }
}

/// Something that the store remembers of itself, as a number.
enum StoreSetting: String {
    /// 1 while the index or its log may still hold pages that a migration has replaced.
    case scrub
}
