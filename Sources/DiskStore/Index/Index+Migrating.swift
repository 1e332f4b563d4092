import Glibc
import Logging

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
