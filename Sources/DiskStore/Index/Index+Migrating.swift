import Glibc
import Logging

extension Index {
    /// Brings an index of an earlier version to the present one. One for which the disk has no room is given up, as a
    /// damaged one is: a cache can be filled again.
    func migrate(_ catalogue: Catalogue, from version: Int64) throws(StoreError) {
        logger.notice(
            "the index is brought from version \(version) to \(Schema.version)", metadata: ["path": "\(paths.index)"])
        // What stands in the log would else be there until the next checkpoint.
        _ = try? catalogue.emptyLog()
        do throws(StoreError) {
            try SchemaMigration(connection: catalogue.connection, paths: paths, migrator: configuration.migrator).run()
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
        let catalogue = try catalogue()
        guard try catalogue.setting(.scrub) != nil else { return }
        catalogue.connection.setBusyTimeout(milliseconds: 500)
        defer { catalogue.connection.setBusyTimeout(milliseconds: 10_000) }
        guard let isEmpty = try? catalogue.emptyLog(), isEmpty else { return }
        try change { (_) throws(StoreError) in try catalogue.save(.scrub, nil) }
    }
}
