import Glibc

extension DiskStore {
    /// Deletes leftovers of killed processes: bodies without an entry, partials beyond their lifetime or without their
    /// files, bodies that were removed while they were read. Partials whose rows were lost are recovered. Files with
    /// other names than the store's own are left alone.
    ///
    /// Works in small steps and yields after each, so it can run in the background of a service; it ends early if its
    /// task is cancelled. Any number of processes may sweep at once.
    ///
    /// - Parameter age: Does nothing if the last complete sweep, by any process, is more recent than this, and the
    ///   machine was not started since. Short-lived commands thus sweep seldom.
    /// - Returns: nil if it was not due.
    @discardableResult
    package func sweep(ifOlderThan age: Duration = .zero) async throws -> SweepResult? {
        let now = configuration.clock().milliseconds
        let last = try withIndex { (index) throws(StoreError) in try index.readTotals().swept }
        // Due as well after the clock was set back, and after a boot: with a power failure the index may have lost rows
        // of existing files, which do not count before they are found.
        let start = now - configuration.uptime().components.seconds * 1000
        if age > .zero, now >= last, last >= start, now - last < age.components.seconds * 1000 { return nil }

        var result = SweepResult()
        for folder in Int64(0)..<256 {
            var names: [String] = []
            try forEachName(in: paths.folder(folder)) { names.append($0) }
            if names.isEmpty { continue }
            for start in stride(from: 0, to: names.count, by: 256) {
                let step = Array(names[start..<min(names.count, start + 256)])
                let before = result
                result = try withIndex { (index) throws(StoreError) in
                    var after = before
                    try index.sweepBodies(step, in: folder, &after)
                    return after
                }
                try Task.checkCancellation()
                await Task.yield()
            }
            try withIndex { (index) throws(StoreError) in try index.countFolder(folder) }
        }
        var number = Int64.min
        while let next = try withIndex({ (index) throws(StoreError) in try index.removeTooOld(after: number) }) {
            number = next
            try Task.checkCancellation()
            await Task.yield()
        }
        let before = result
        return try withIndex { (index) throws(StoreError) in
            var after = before
            try index.sweepPartials(&after)
            try index.countFolder(Index.partialsFolder)
            after.bytes += try index.dropPartials(olderThan: configuration.partialLifetime)
            try index.releaseDeadRuns()
            after.bytes += try index.deleteDoomed()
            index.deleteOldAside()
            try index.shrink()
            try index.change { (totals) throws(StoreError) in
                for slot in 0..<GenerationTable.slots { try? index.generations.table().settle(slot: slot) }
                totals.swept = now
                totals.hasUncountedFiles = 0
            }
            return after
        }
    }
}

extension Index {
    /// Deletes indexes that were moved aside more than a week ago; until then they can be inspected.
    func deleteOldAside() {
        for number in Paths.asides {
            guard let status = FileStatus(at: paths.aside(number)), now / 1000 - status.changed.seconds > 7 * 24 * 3600
            else {
                continue
            }
            unlink(paths.asideLog(number))
            unlink(paths.aside(number))
        }
        countAside()
    }
}
