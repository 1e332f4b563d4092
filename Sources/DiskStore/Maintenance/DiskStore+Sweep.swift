import Glibc

extension DiskStore {
    /// Deletes what kills left behind: bodies without an entry, partials past their lifetime or without their files,
    /// bodies that were removed while they were read. Partials whose rows were lost are taken back. A file that is not
    /// named as the store names its own is nobody's business here, and stays.
    ///
    /// Works in small steps and yields after each, so it can run in the background of a process that serves; it ends
    /// early when its task is cancelled. Any number of processes may sweep at once.
    ///
    /// - Parameter age: do nothing if the last complete sweep, of any process, is younger than this, and the machine was not
    ///   started since. A command that runs for a moment sweeps seldom that way.
    /// - Returns: nil if it was not due.
    @discardableResult
    public func sweep(ifOlderThan age: Duration = .zero) async throws -> SweepResult? {
        let now = Index.milliseconds(configuration.clock())
        let last = try withIndex { (index) throws(StoreError) in try index.readTotals().swept }
        // A clock that stepped back makes it due, rather than never due again. So does a start of the machine: with a loss of
        // power the index may have lost rows of files that are there, and those count only when they are found.
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
                totals.swept = now
                totals.hasStrangers = 0
            }
            return after
        }
    }
}

extension Index {
    /// An index that was moved aside is kept for a week, for whoever wants to look into it.
    func deleteOldAside() {
        for number in Paths.asides {
            guard let status = FileStatus(at: paths.aside(number)), now / 1000 - status.changed > 7 * 24 * 3600 else {
                continue
            }
            unlink(paths.asideLog(number))
            unlink(paths.aside(number))
        }
        countAside()
    }
}
