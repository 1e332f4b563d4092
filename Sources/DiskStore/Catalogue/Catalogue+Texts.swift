/// Statements whose SQL text is written next to the row types that they return.
extension Catalogue {
    func run(_ sql: String, _ bind: (Statement) -> Void = { _ in }) throws(StoreError) {
        let statement = try connection.prepared(sql)
        bind(statement)
        try statement.run()
    }

    func first<Row>(
        _ sql: String, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> Row? {
        let statement = try connection.prepared(sql)
        bind(statement)
        defer { statement.reset() }
        return try statement.step() ? row(statement) : nil
    }

    func all<Row>(
        _ sql: String, _ bind: (Statement) -> Void = { _ in }, row: (Statement) -> Row
    ) throws(StoreError) -> [Row] {
        let statement = try connection.prepared(sql)
        bind(statement)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() { rows.append(row(statement)) }
        return rows
    }
}
