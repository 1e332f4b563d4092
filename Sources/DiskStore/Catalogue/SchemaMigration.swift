/// The migration from one version of the tables to the next.
///
/// A step refers only to the tables of its two versions. It uses none of the current queries and row types, so that these can change
/// independently.
struct SchemaMigration {
    let connection: Connection
    let paths: Paths
    let migrator: (any EntryMigrating)?

    typealias Step = @Sendable (SchemaMigration) throws(StoreError) -> Void

    /// The step from each earlier version to the following one.
    static let steps: [Int64: Step] = [
        1: { (migration) throws(StoreError) in try migration.hideSelectingFields() },
        2: { (migration) throws(StoreError) in try migration.connection.execute(capacityAndHolds) },
        3: { (migration) throws(StoreError) in try migration.connection.execute(version4) },
        4: { (migration) throws(StoreError) in try migration.connection.execute(version5) },
    ]

    /// The versions that can be migrated.
    static var versions: Range<Int64> { 1..<Schema.version }

    /// Performs the steps from the index's version to the present one, in one transaction.
    func run() throws(StoreError) {
        try connection.execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            // Another process may have migrated it meanwhile.
            var version = try connection.number("PRAGMA user_version")
            while version < Schema.version {
                guard let step = Self.steps[version] else {
                    throw StoreError(.damaged, "the index has an unknown version", path: paths.index)
                }
                try step(self)
                version += 1
                try connection.execute("PRAGMA user_version = \(version)")
            }
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }
}
