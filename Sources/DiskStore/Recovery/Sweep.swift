import Glibc
import Logging

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
        let start = now - configuration.uptime().milliseconds
        if age > .zero, now >= last, last >= start, now - last < age.milliseconds { return nil }

        var result = SweepResult()
        for folder in Int64(0)..<256 {
            var names: [String] = []
            try forEachName(in: paths.folder(folder)) { names.append($0) }
            if names.isEmpty { continue }
            for step in names.chunks(ofCount: Index.sweepStep) {
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
        result = try withIndex { (index) throws(StoreError) in
            var after = before
            try index.sweepPartials(&after)
            try index.countFolder(Index.partialsFolder)
            return after
        }
        result.bytes += try dropOldPartials()
        try releaseDeadRuns()
        result.bytes += try deleteDoomed()
        try collectListGarbage()
        try withIndex { (index) throws(StoreError) in index.deleteOldAside() }
        try shrink()
        try withIndex { (index) throws(StoreError) in
            try index.change { (totals) throws(StoreError) in
                for slot in 0..<GenerationTable.slots { try? index.generations.table().settle(slot: slot) }
                totals.swept = now
                totals.hasUncountedFiles = 0
            }
        }
        return result
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

/// The result of a sweep.
package struct SweepResult: Sendable, Equatable {
    /// The number of bodies and partials' files that belonged to nothing.
    package var orphans = 0
    /// The number of bytes freed: orphans, doomed bodies, partials beyond their lifetime.
    package var bytes: Int64 = 0
    /// The number of partials whose rows were lost and restored.
    package var adopted = 0
}

extension Index {
    // MARK: Bodies

    /// The number of bodies that are looked at in one transaction.
    static let sweepStep = 256

    /// Deletes bodies without a row from one folder's listing; other files remain.
    ///
    /// The row is looked up again inside a write transaction, and the file deleted there: a commit puts its file in
    /// place inside one too, so a file whose row is about to be inserted is never deleted.
    func sweepBodies(_ names: [String], in folder: Int64, _ result: inout SweepResult) throws(StoreError) {
        var suspects: [Int64] = []
        for name in names {
            guard let id = Paths.number(name), Paths.folderNumber(of: id) == folder, try !exists(id) else { continue }
            suspects.append(id)
        }
        if suspects.isEmpty { return }
        var swept = result
        try change { (totals) throws(StoreError) in
            for id in suspects {
                let path = paths.body(id)
                guard let status = FileStatus(at: path), !status.isFolder else { continue }
                guard try action(forBody: id) == .orphan else { continue }
                if try !deleteUnlessInUse(id) {
                    // Open in a reader since before its row was lost: it counts until it can be deleted.
                    try catalogue().deletedBodies.insert(id, allocated: status.allocated)
                    totals.doomed += status.allocated
                    continue
                }
                swept.orphans += 1
                swept.bytes += status.allocated
            }
        }
        result = swept
    }

    private func action(forBody id: Int64) throws(StoreError) -> BodyRecoveryAction {
        let catalogue = try catalogue()
        return try BodyRecoveryAction(
            isEntry: catalogue.entries.contains(id), isDoomed: catalogue.deletedBodies.contains(id),
            isPartial: catalogue.partials.partial(id) != nil)
    }

    /// Counts a folder's own blocks.
    func countFolder(_ folder: Int64) throws(StoreError) {
        try change { (totals) throws(StoreError) in try countFolder(folder, &totals) }
    }

    // MARK: Partials

    /// The number of partials that the first write of a process looks at.
    static let mostRecovered = 256

    /// Recovers the folder of partials, once in the life of this store: leftovers of a kill wait no longer than for the
    /// next process that writes. A kill usually leaves the most recently used ones. The next sweep recovers the others, and retries failures.
    func recoverPartialsOnce() {
        if hasRecoveredPartials || configuration.isReadOnly { return }
        hasRecoveredPartials = true
        var result = SweepResult()
        try? sweepPartials(&result, atMost: Self.mostRecovered)
    }

    /// Recovers the folder of partials after kills or a lost index, in one step.
    ///
    /// - Parameter count: The number of partials with a row to recover, the most recently used ones.
    func sweepPartials(_ result: inout SweepResult, atMost count: Int = .max) throws(StoreError) {
        var swept = result
        var records: [Int64: Int64] = [:]
        var data: Set<Int64> = []
        var small: [String] = []
        try forEachName(in: paths.partials) { name throws(StoreError) in
            switch PartialFile(name: name) {
            case .record(let id, let claim): records[id] = claim
            case .data(let id): data.insert(id)
            case .small: small.append(name)
            case nil: break
            }
        }
        lastPartial = max(data.max() ?? 0, records.keys.max() ?? 0)
        let catalogue = try catalogue()
        // Files with a row are the usual case, and cost no transaction.
        var unindexed = UnindexedPartialFiles(small: small)
        for id in data where records[id] == nil {
            if try catalogue.partials.partial(id) == nil { unindexed.data.append(id) }
        }
        for (id, claim) in records {
            if try catalogue.partials.partial(id) == nil { unindexed.records.append((id, claim)) }
        }
        for part in unindexed.parts(ofCount: Int(budget.evictionBatch)) { try sweep(part, &swept) }
        for row in try catalogue.partials.all().suffix(count) {
            let record = records[row.id].map { paths.record(row.id, claim: $0) }
            swept.bytes += try recover(row, record: record)
        }
        result = swept
    }

    /// Recovers a partial that has a row. Returns the bytes freed.
    ///
    /// - Parameter record: The path of its record, from the listing.
    private func recover(_ row: PartialRow, record: String?) throws(StoreError) -> Int64 {
        while true {
            // The listing is older than the row.
            let hasData = try FileStatus.ifPresent(paths.data(row.id)) != nil
            switch try action(for: row, hasData: hasData, record: record) {
            case .keep:
                try correct(row)
                return 0
            case .restore:
                // Checked again inside the transaction: its commit may have ended.
                if try !change({ (_) throws(StoreError) in try restorePartial(row.id) }) { return 0 }
            // Killed between unlinking the two, or the record was lost in a power failure.
            case .drop: return try dropIfIdle(row, unlessRecorded: hasData)
            }
        }
    }

    /// Corrects a row whose date is in the future, and one with more bytes reserved than an idle partial has on disk. A kill leaves the
    /// reservation for the whole body.
    private func correct(_ row: PartialRow) throws(StoreError) {
        let now = now
        if row.updated > now {
            try change { (_) throws(StoreError) in try catalogue().partials.noteUse(ofPartial: row.id, at: now) }
        }
        guard let size = try allocated(row), size < row.reserved, let data = try File.ifReadable(paths.data(row.id)),
            try !seemsInUse(row, data)
        else { return }
        try change { (totals) throws(StoreError) in
            let partials = try catalogue().partials
            // A writer that has claimed it since may be about to use its reservation. Without one, the files no longer grow.
            guard let present = try partials.partial(row.id), present.claim == row.claim,
                let size = try allocated(present), size < present.reserved,
                let before = try partials.save(reserved: size, ofPartial: row.id, updated: present.updated)
            else { return }
            totals.partials += size - before
        }
    }

    /// The space of a partial's files on disk; `nil` if one is missing.
    private func allocated(_ row: PartialRow) throws(StoreError) -> Int64? {
        guard let data = FileStatus(at: paths.data(row.id)),
            let record = try FileStatus(at: paths.record(row.id, claim: currentClaim(of: row)))
        else { return nil }
        return data.counted + record.counted
    }

    private func action(for row: PartialRow, hasData: Bool, record: String?) throws(StoreError) -> PartialRecoveryAction
    {
        if hasData {
            guard let record else { return PartialRecoveryAction(data: true, isRecorded: false, body: .none) }
            return try PartialRecoveryAction(data: true, isRecorded: isRecorded(row, at: record), body: .none)
        }
        let hasBody = try FileStatus.ifPresent(paths.body(row.id)) != nil
        let body: PartialRecoveryAction.Body = hasBody ? try exists(row.id) ? .entry : .unknown : .none
        return PartialRecoveryAction(data: false, isRecorded: false, body: body)
    }

    /// Files in the folder of partials that have no row.
    private struct UnindexedPartialFiles {
        var small: [String]
        var data: [Int64] = []
        var records: [(id: Int64, claim: Int64)] = []

        /// The files in parts. Each part fits a transaction.
        func parts(ofCount count: Int) -> [UnindexedPartialFiles] {
            small.chunks(ofCount: count).map { UnindexedPartialFiles(small: $0) }
                + data.chunks(ofCount: count).map { UnindexedPartialFiles(small: [], data: $0) }
                + records.chunks(ofCount: count).map { UnindexedPartialFiles(small: [], records: $0) }
        }
    }

    /// Deletes or restores them, after checking them again inside the transaction.
    private func sweep(_ unindexed: UnindexedPartialFiles, _ result: inout SweepResult) throws(StoreError) {
        var swept = result
        try change { (totals) throws(StoreError) in
            for name in unindexed.small where !isSmallInUse(name) { delete("\(paths.partials)/\(name)", &swept) }
            for id in unindexed.data where try catalogue().partials.partial(id) == nil {
                let path = paths.data(id)
                // A partial in creation has no record yet.
                if fileSystem.isShared, let file = try? File(path, O_RDONLY), fileSystem.wasChangedLately(file) {
                    continue
                }
                delete(path, &swept)
            }
            for (id, claim) in unindexed.records where try catalogue().partials.partial(id) == nil {
                let path = paths.record(id, claim: claim)
                // Without a row it may be in creation: its data is then locked.
                let file = try File.ifReadable(paths.data(id))
                defer { withExtendedLifetime(file) {} }
                let isLocked =
                    try file.map { (file) throws(StoreError) in try fileSystem.isInUse(file, claim: claim) } ?? false
                let record = try file == nil ? nil : recordToAdopt(id, claim: claim)
                switch UnindexedPartialAction(data: file != nil, isLocked: isLocked, isRecorded: record != nil) {
                case .keep: break
                case .adopt:
                    guard let record else { break }
                    try insertPartial(id: id, claim: claim, key: record.key, reserved: record.reserved, &totals)
                    swept.adopted += 1
                case .delete:
                    if file != nil, unlink(paths.data(id)) == 0 { swept.orphans += 1 }
                    delete(path, &swept)
                }
            }
        }
        result = swept
    }

    /// True if a process may be writing to a small body with that name among the partials. Elsewhere than on a shared file system its lock
    /// says so.
    private func isSmallInUse(_ name: String) -> Bool {
        guard fileSystem.isShared, let claim = Paths.number(name.prefix(16)),
            let file = try? File("\(paths.partials)/\(name)", O_RDONLY)
        else { return false }
        return (try? fileSystem.isInUse(file, claim: claim)) ?? true
    }

    private func delete(_ path: String, _ result: inout SweepResult) {
        guard let status = FileStatus(at: path), !status.isFolder, deleteUnlessRead(path) else { return }
        result.orphans += 1
        result.bytes += status.allocated
    }

    /// The contents of a lost row, from the partial's record; nil if the partial has no bytes.
    private func recordToAdopt(_ id: Int64, claim: Int64) throws(StoreError) -> (key: EntryKey, reserved: Int64)? {
        guard let file = try File.ifReadable(paths.record(id, claim: claim)),
            let record = try PartialRecord(reading: file), record.id == id, let status = file.status,
            let data = FileStatus(at: paths.data(id)), status.size > record.tailOffset
        else { return nil }
        return (record.key, status.allocated + data.allocated)
    }

    // MARK: Removal of everything

    /// After the loss of an index: files in the folders are not counted, so they are deleted before anything is
    /// written.
    func removeUncountedFiles() throws(StoreError) {
        if try readTotals().hasUncountedFiles == 0 { return }
        var result = SweepResult()
        for folder in Int64(0)..<256 {
            var names: [String] = []
            try forEachName(in: paths.folder(folder)) { names.append($0) }
            for step in names.chunks(ofCount: Self.sweepStep) { try sweepBodies(step, in: folder, &result) }
            if FileStatus(at: paths.folder(folder)) != nil { try countFolder(folder) }
        }
        try sweepPartials(&result)
        try countFolder(Self.partialsFolder)
        try change { (totals) throws(StoreError) in totals.hasUncountedFiles = 0 }
        logger.info(
            "files of a lost index were removed",
            metadata: ["count": "\(result.orphans)", "bytes": "\(result.bytes)", "partials kept": "\(result.adopted)"])
    }
}
