import Glibc
import Logging

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
        5: { (migration) throws(StoreError) in try migration.connection.execute(version6) },
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

/// Converts stored data of an earlier version: metadata and headers are opaque to the store.
package protocol EntryMigrating: Sendable {
    /// Returns the converted entry; `nil` removes it.
    ///
    /// Called once for each entry, inside the transaction that migrates the index.
    func migrated(_ entry: NewEntry, from version: Int64) -> NewEntry?

    /// Returns true if a partial is kept; otherwise its record is deleted.
    func keepsPartial(of key: EntryKey, header: [UInt8], from version: Int64) -> Bool
}

extension Index {
    /// Migrates an index of an earlier version. If the disk has no space for that, it is treated as damaged: a cache
    /// can be filled again.
    func migrate(_ catalogue: Catalogue, from version: Int64) throws(StoreError) {
        logger.notice(
            "the index is brought from version \(version) to \(Schema.version)", metadata: ["path": "\(paths.index)"])
        // Otherwise the old content of the log would remain until the next checkpoint.
        _ = try? catalogue.emptyLog()
        do throws(StoreError) {
            try SchemaMigration(connection: catalogue.connection, paths: paths, migrator: configuration.migrator).run()
        } catch  where error.code == .full {
            throw StoreError(.damaged, "the disk has no room to migrate the index", path: paths.index)
        }
        // Indexes that were moved aside are of earlier versions as well.
        for number in Paths.asides {
            unlink(paths.asideLog(number))
            unlink(paths.aside(number))
        }
    }

    /// Empties the log after a migration: its earlier frames may contain removed data. While another process reads the
    /// index that is impossible, and left to the next process that opens the store.
    func scrubIfPending() throws(StoreError) {
        let catalogue = try catalogue()
        guard try catalogue.setting(.scrub) != nil else { return }
        let former = catalogue.connection.busyTimeout
        catalogue.connection.busyTimeout = 500
        defer { catalogue.connection.busyTimeout = former }
        guard let isEmpty = try? catalogue.emptyLog(), isEmpty else { return }
        _ = try changeUnlessBusy { (_) throws(StoreError) in try catalogue.save(.scrub, nil) }
    }
}
