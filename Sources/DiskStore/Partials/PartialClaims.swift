import CLinux
import Glibc
import Logging

extension Index {
    // MARK: Making

    /// A number for a new partial.
    ///
    /// After a power failure the index may issue a number again while a record of the number's former partial still exists. It is removed first.
    func takeNumber() throws(StoreError) -> Int64 {
        recoverPartialsOnce()
        return try change { (totals) throws(StoreError) in try takePartialNumber(&totals) }
    }

    /// Reserves space for a partial whose files exist and are locked, so that the row always refers to existing files.
    ///
    /// A partial of an epoch that has ended belongs to its writer only.
    func addPartial(
        _ record: PartialRecord, claim: Int64, reserved: Int64, _ epoch: Generation.Epoch?
    ) throws(StoreError) {
        try changeWithRoom(for: reserved) { (totals) throws(StoreError) in
            try insertPartial(id: record.id, claim: claim, key: record.key, reserved: reserved, &totals)
            if let epoch, try !transactionGenerations().isCurrent(epoch) {
                try catalogue().partials.disown(record.id)
            }
            grownFolders.insert(Self.partialsFolder)
        }
    }

    func insertPartial(
        id: Int64, claim: Int64, key: EntryKey, reserved: Int64, _ totals: inout Totals
    ) throws(StoreError) {
        try catalogue().partials.insert(PartialRow(id: id, claim: claim, key: key, reserved: reserved, updated: now))
        totals.partials += reserved
        totals.noteTaken(id)
    }

    /// Changes a reservation. The row may be lost with its index: the reservation is then obsolete.
    func setReserved(_ id: Int64, from old: Int64, to new: Int64, sparesUseful: Bool = false) throws(StoreError) {
        try changeWithRoom(for: max(0, new - old), sparesUseful: sparesUseful) { (totals) throws(StoreError) in
            if let before = try catalogue().partials.save(reserved: new, ofPartial: id, updated: now) {
                totals.partials += new - before
            }
            grownFolders.insert(Self.partialsFolder)
        }
    }

    /// Deletes a partial that this process has locked: files first, so that it counts until it is deleted.
    func drop(_ partial: Partial) throws(StoreError) {
        if partial.isStillOurs { partial.deleteFiles() }
        try forgetPartial(partial.id)
    }

    @discardableResult
    func forgetPartial(_ id: Int64) throws(StoreError) -> Int64 {
        try change { (totals) throws(StoreError) in
            let reserved = try catalogue().partials.delete(id)
            totals.partials -= reserved
            return reserved
        }
    }

    // MARK: Claiming

    /// Claims an idle partial of the key, if there is one. Its blocks are not verified yet.
    func claimPartial(for key: EntryKey) throws(StoreError) -> Partial? {
        for row in try catalogue().partials.partials(of: key) {
            if let partial = try claim(row) { return partial }
        }
        return nil
    }

    /// Claims one partial: by its lock, and by renaming its record. On a shared file system the name of the record says who has it, and the
    /// rename decides between those who want it.
    private func claim(_ row: PartialRow) throws(StoreError) -> Partial? {
        guard let data = try openData(row) else { return nil }
        guard lockForWriting(data) else { return nil }
        if fileSystem.isShared, try Claim.state(of: currentClaim(of: row)) != .free { return nil }
        defer { withExtendedLifetime(data) {} }
        // The opened file may meanwhile have become a body, or have been deleted.
        guard FileStatus(at: paths.data(row.id))?.identity == data.status?.identity else { return nil }
        let claim = Claim.new()
        guard let recordPath = try takeRecord(row, as: claim) else {
            // Another process may have taken it.
            if fileSystem.isShared { return nil }
            unlink(paths.data(row.id))
            try forgetPartial(row.id)
            return nil
        }
        guard let (recordFile, record) = try record(of: row, at: recordPath) else {
            logger.warning("a partial's record is damaged; starting over", metadata: ["path": "\(recordPath)"])
            removeName(recordPath)
            unlink(paths.data(row.id))
            try forgetPartial(row.id)
            return nil
        }
        let present = try change { (_) throws(StoreError) in
            let partials = try catalogue().partials
            try partials.save(claim: claim, ofPartial: row.id, updated: now)
            return try partials.partial(row.id)
        }
        // The last writer may have released a part of its reservation since the row was read.
        return Partial(
            paths: paths, record: record, claim: claim, data: data, recordFile: recordFile,
            reserved: (present ?? row).reserved)
    }

    /// Locks a partial's data for a writer; false if another writer has it.
    ///
    /// One who only looks if it is in use has a shared lock for a moment (``seemsInUse(_:_:)``). Taking that for a writer would begin the body
    /// again at its start.
    private func lockForWriting(_ data: File) -> Bool {
        for _ in 0..<20 {
            if fileSystem.lock(data, exclusive: true) { return true }
            guard fileSystem.lock(data, exclusive: false) else { return false }
            data.unlock()
            usleep(250)
        }
        return false
    }

    /// Lets any process claim a partial's record. Otherwise the record would belong to this process until the process ends.
    func releaseClaim(_ claim: Int64, ofPartial id: Int64) throws(StoreError) {
        let free = Claim.released()
        guard rename(paths.record(id, claim: claim), paths.record(id, claim: free)) == 0 else { return }
        try change { (_) throws(StoreError) in try catalogue().partials.save(claim: free, ofPartial: id, updated: now) }
    }

    /// Opens a partial's record; `nil` if it is damaged, or not a file.
    private func record(of row: PartialRow, at path: String) throws(StoreError) -> (File, PartialRecord)? {
        let file: File
        do throws(StoreError) { file = try File(path, O_RDWR) } catch  where error.isOfOtherKind { return nil }
        guard let record = try PartialRecord(reading: file), record.id == row.id, record.key == row.key else {
            return nil
        }
        return (file, record)
    }

    /// Opens a partial's data; deletes the row if there is none, or if something else is in its place.
    private func openData(_ row: PartialRow) throws(StoreError) -> File? {
        let path = paths.data(row.id)
        if try FileStatus.ifPresent(path) == nil {
            // Killed between the rename and the row: the complete body is in place without an entry.
            let isBack = try change { (totals) throws(StoreError) in
                if try restorePartial(row.id) { return true }
                totals.partials -= try catalogue().partials.delete(row.id)
                return false
            }
            if !isBack {
                try recordPath(of: row.id).map { _ = unlink($0) }
                return nil
            }
        }
        do throws(StoreError) {
            return try File(path, O_RDWR)
        } catch  where error.errno == EACCES && chmod(path, 0o600) == 0 {
            // Killed when it was read-only already, before its commit.
            return try File(path, O_RDWR)
        } catch  where error.errno == ENOENT {
            return nil
        } catch  where error.isOfOtherKind {
            logger.warning("a partial's data is not a file; starting over", metadata: ["path": "\(path)"])
            _ = try deleteFiles(of: row)
            return nil
        }
    }

    /// Restores the partial's name of a complete body whose commit was killed before its row. Inside a transaction,
    /// like commits; false if there is no such body, or no partial of that number.
    func restorePartial(_ id: Int64) throws(StoreError) -> Bool {
        guard try !exists(id), try catalogue().partials.partial(id) != nil else { return false }
        return clinux_rename_exclusive(paths.body(id), paths.data(id)) == 0
            || (errno == EINVAL || errno == ENOSYS) && rename(paths.body(id), paths.data(id)) == 0
    }

    /// Gives a partial's record the name of a claim; `nil` if there is no record, or if another process has it.
    private func takeRecord(_ row: PartialRow, as claim: Int64) throws(StoreError) -> String? {
        let target = paths.record(row.id, claim: claim)
        if try renameRecord(paths.record(row.id, claim: row.claim), to: target) { return target }
        // Its last claimer died before updating the row.
        guard let found = try foundClaim(of: row.id), !fileSystem.isShared || Claim.state(of: found) == .free,
            try renameRecord(paths.record(row.id, claim: found), to: target)
        else { return nil }
        return target
    }

    /// - Returns: False if there is no file of that name. After any other failure the partial is intact.
    private func renameRecord(_ path: String, to target: String) throws(StoreError) -> Bool {
        if rename(path, target) == 0 { return true }
        if StoreError.isOfAbsence(errno) { return false }
        throw .system("cannot rename the record", path: path)
    }

    /// The claim in the name of a partial's record: the row's, unless its last claimer died before it changed the row.
    func currentClaim(of row: PartialRow) throws(StoreError) -> Int64 {
        if try FileStatus.ifPresent(paths.record(row.id, claim: row.claim)) != nil { return row.claim }
        return try foundClaim(of: row.id) ?? row.claim
    }

    /// The path of a partial's record with any claim. Lists the folder: only needed after a kill.
    func recordPath(of id: Int64) throws(StoreError) -> String? {
        try foundClaim(of: id).map { paths.record(id, claim: $0) }
    }

    private func foundClaim(of id: Int64) throws(StoreError) -> Int64? {
        var found: Int64?
        try forEachName(in: paths.partials) { name in
            if case .record(let data, let claim) = PartialFile(name: name), data == id { found = claim }
        }
        return found
    }

    // MARK: Dropping for room

    /// Drops idle partials, the oldest first: those last used longer ago than `lifetime`, or as many as have `bytes`.
    /// Returns the bytes freed.
    func dropPartials(olderThan lifetime: Duration?, atLeast bytes: Int64 = .max) throws(StoreError) -> Int64 {
        try dropPartials(unusedSince: lifetime.map { now - $0.milliseconds } ?? .max, atLeast: bytes)
    }

    /// The time in milliseconds by which a partial may be unused for longer than each entry. Interrupted downloads are expensive to repeat.
    private static let grace: Int64 = 3_600_000

    /// Drops idle partials that were unused for an hour longer than any entry: the oldest first, as many as have `bytes`. Returns the bytes freed.
    func dropPartials(unusedLongerThanEntries bytes: Int64) throws(StoreError) -> Int64 {
        try flush()
        guard let oldest = try catalogue().entries.longestUnused(limit: 1).first else { return 0 }
        // A date in the future is that of a clock that was set back since.
        return try dropPartials(unusedSince: min(oldest.lastUse, now) - Self.grace, atLeast: bytes)
    }

    /// The number of partials that are read together. There may be as many as there are large files.
    static let partialStep: Int64 = 1000

    /// Drops idle partials last used before a time: the oldest first, as many as have `bytes`. Returns the bytes freed.
    private func dropPartials(unusedSince time: Int64, atLeast bytes: Int64) throws(StoreError) -> Int64 {
        var freed: Int64 = 0
        var last: PartialRow?
        repeat {
            let step = try dropSomePartials(
                unusedSince: time, after: last, limit: Self.partialStep, atLeast: bytes - freed)
            freed += step.freed
            last = step.last
        } while last != nil
        return freed
    }

    /// Drops some of these partials.
    ///
    /// - Parameters:
    ///   - last: The partial behind which they begin; `nil` for the first ones.
    ///   - limit: The number of partials to look at.
    /// - Returns: The bytes freed, and the partial to continue behind; `nil` at the end, or if they have `bytes`.
    func dropSomePartials(
        unusedSince time: Int64, after last: PartialRow?, limit: Int64, atLeast bytes: Int64 = .max
    ) throws(StoreError) -> (freed: Int64, last: PartialRow?) {
        if bytes <= 0 { return (0, nil) }
        var freed: Int64 = 0
        let rows = try catalogue().partials.longestIdle(after: last, before: time, limit: limit)
        for row in rows where freed < bytes { freed += try dropIfIdle(row) }
        return (freed, rows.count < limit || freed >= bytes ? nil : rows.last)
    }

    /// The bytes reserved for idle partials, of which no more are counted as soon as they have `enough`.
    func idlePartialBytes(upTo enough: Int64 = .max) throws(StoreError) -> Int64 {
        var bytes: Int64 = 0
        var last = Int64.min
        while bytes < enough {
            let rows = try catalogue().partials.partials(after: last, limit: Self.partialStep)
            for row in rows where bytes < enough {
                // A partial without its data is a leftover of a kill.
                if let data = try File.ifReadable(paths.data(row.id)), try seemsInUse(row, data) { continue }
                bytes += row.reserved
            }
            guard let end = rows.last else { break }
            last = end.id
        }
        return bytes
    }

    /// Drops a partial that is not in use. Returns the bytes freed; 0 if it is in use.
    ///
    /// - Parameter unlessRecorded: True to drop it only if its record is missing or damaged.
    func dropIfIdle(_ row: PartialRow, unlessRecorded: Bool = false) throws(StoreError) -> Int64 {
        do throws(StoreError) { return try drop(row, unlessRecorded: unlessRecorded) } catch  where error.code == .full
        {
            // The disk has the space of the files only now that they are closed.
            return try drop(row, unlessRecorded: unlessRecorded)
        }
    }

    private func drop(_ row: PartialRow, unlessRecorded: Bool) throws(StoreError) -> Int64 {
        if let data = try? File(paths.data(row.id), O_RDONLY) {
            if try isInUse(row, data) { return 0 }
            defer { withExtendedLifetime(data) {} }  // The lock must be held until the files are deleted.
            if unlessRecorded, let path = try recordPath(of: row.id), try isRecorded(row, at: path) { return 0 }
            return try deleteFiles(of: row)
        }
        // Killed before its row, it is among the bodies; just committed, the row no longer exists.
        return try change { (totals) throws(StoreError) in
            guard try catalogue().partials.partial(row.id) != nil, try !isFile(paths.data(row.id)) else { return 0 }
            removeName(paths.data(row.id))
            if try !exists(row.id) { unlink(paths.body(row.id)) }
            if let record = try recordPath(of: row.id) { removeName(record) }
            let reserved = try catalogue().partials.delete(row.id)
            totals.partials -= reserved
            return reserved
        }
    }

    /// Returns true if a writer may use a partial. Otherwise its data is locked.
    func isInUse(_ row: PartialRow, _ data: File) throws(StoreError) -> Bool {
        try fileSystem.isInUse(data, claim: try currentClaim(of: row))
    }

    /// Returns true if a writer uses a partial at this moment. Does not keep its data locked.
    ///
    /// Trying a shared lock reveals an exclusive one without waiting.
    func seemsInUse(_ row: PartialRow, _ data: File) throws(StoreError) -> Bool {
        let claim = try currentClaim(of: row)
        defer { data.unlock() }
        return try fileSystem.isInUse(data, claim: claim, exclusive: false)
    }

    /// A key's partial that a process of another machine has claimed, or of an earlier boot, and that no lock protects.
    func partialElsewhere(of key: EntryKey) throws(StoreError) -> PartialRow? {
        for row in try catalogue().partials.partials(of: key) {
            guard try Claim.state(of: currentClaim(of: row)) == .elsewhere, let data = try openData(row) else {
                continue
            }
            if fileSystem.lock(data, exclusive: false) {
                data.unlock()
                return row
            }
        }
        return nil
    }

    /// Returns true if a partial's record exists and is complete: otherwise nothing is known about its bytes.
    func isRecorded(_ row: PartialRow, at path: String) throws(StoreError) -> Bool {
        guard let file = try File.ifReadable(path), let record = try PartialRecord(reading: file) else { return false }
        return record.id == row.id && record.key == row.key
    }

    private func deleteFiles(of row: PartialRow) throws(StoreError) -> Int64 {
        let record = paths.record(row.id, claim: row.claim)
        if FileStatus(at: record) == nil || !removeName(record), let other = try recordPath(of: row.id) {
            removeName(other)
        }
        removeName(paths.data(row.id))
        return try forgetPartial(row.id)
    }

    private func isFile(_ path: String) throws(StoreError) -> Bool { try FileStatus.ifPresent(path)?.isRegular == true }
}
