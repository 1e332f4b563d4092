import Glibc
import Logging

/// The way from one version of the tables to the next.
///
/// A step knows the tables of its own two versions only, so it uses none of the queries and row types of the present one:
/// they may be changed without a look at it.
struct SchemaMigration {
    let connection: Connection
    let paths: Paths
    let migrator: (any EntryMigrating)?

    typealias Step = @Sendable (SchemaMigration) throws(StoreError) -> Void

    /// The step from each earlier version to the one after it.
    static let steps: [Int64: Step] = [
        1: { (migration) throws(StoreError) in try migration.hideSelectingFields() },
        2: { (migration) throws(StoreError) in try migration.connection.execute(capacityAndHolds) },
    ]

    /// The versions that can be migrated.
    static var versions: Range<Int64> { 1..<Schema.version }

    /// Takes the steps from the index's version to the present one, all in one transaction.
    func run() throws(StoreError) {
        try connection.execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            // Another process may have done it meanwhile.
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

extension Index {
    /// Brings an index of an earlier version to the present one. One for which the disk has no room is given up, as a
    /// damaged one is: a cache can be filled again.
    func migrate(_ connection: Connection, from version: Int64) throws(StoreError) {
        logger.notice(
            "the index is brought from version \(version) to \(Schema.version)", metadata: ["path": "\(paths.index)"])
        // What stands in the log would else be there until the next checkpoint.
        _ = try? connection.number("PRAGMA wal_checkpoint(TRUNCATE)")
        do throws(StoreError) {
            try SchemaMigration(connection: connection, paths: paths, migrator: configuration.migrator).run()
        } catch  where error.code == .full {
            throw StoreError(.damaged, "the disk has no room to migrate the index", path: paths.index)
        }
        // Indexes that were moved aside are of earlier versions too.
        for number in Paths.asides {
            unlink(paths.asideLog(number))
            unlink(paths.aside(number))
        }
    }

    /// Empties the log after a migration: frames from before it may hold what it removed. While somebody reads the index
    /// that cannot be; then the next process that opens the store does it.
    func scrubIfPending() throws(StoreError) {
        guard try setting(.scrub) != nil else { return }
        let connection = try database()
        connection.setBusyTimeout(milliseconds: 500)
        defer { connection.setBusyTimeout(milliseconds: 10_000) }
        guard let isBusy = try? connection.number("PRAGMA wal_checkpoint(TRUNCATE)"), isBusy == 0 else { return }
        try save(.scrub, nil)
    }
}
