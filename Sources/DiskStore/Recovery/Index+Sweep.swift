import Glibc
import Logging

/// What a sweep found and deleted.
public struct SweepResult: Sendable, Equatable {
    /// Bodies and partials' files that nothing knew of.
    public var orphans = 0
    /// Bytes that became free: orphans, doomed bodies, partials past their lifetime.
    public var bytes: Int64 = 0
    /// Partials whose rows were lost and that can be continued again.
    public var adopted = 0
}

extension Index {
    // MARK: Bodies

    /// Deletes bodies without a row from one folder's listing; other files than bodies stay.
    ///
    /// The row is looked for again inside a write transaction, and the file deleted there: a commit puts its file in
    /// place inside one too, so no file is in place whose row is only on its way.
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
                if try exists(id) { continue }
                if try isDoomed(id) { continue }
                // A whole body that was killed on its way to its row: it becomes a partial again.
                if try partialRow(id) != nil { continue }
                if try !deleteUnlessInUse(id) {
                    // Read by somebody who opened it before its row was lost: it counts until it is free.
                    try database().prepared(.insertDoomed).bind(1, id).bind(2, status.allocated).run()
                    totals.doomed += status.allocated
                    continue
                }
                swept.orphans += 1
                swept.bytes += status.allocated
            }
        }
        result = swept
    }

    func isDoomed(_ id: Int64) throws(StoreError) -> Bool {
        let select = try database().prepared(.isDoomed).bind(1, id)
        defer { select.reset() }
        return try select.step()
    }

    func partialRow(_ id: Int64) throws(StoreError) -> PartialRow? {
        let select = try database().prepared(.partialByID).bind(1, id)
        defer { select.reset() }
        return try select.step() ? PartialRow(select) : nil
    }

    /// Counts a folder's own blocks.
    func countFolder(_ folder: Int64) throws(StoreError) {
        try change { (totals) throws(StoreError) in try countFolder(folder, &totals) }
    }

    // MARK: Partials

    /// Sets the folder of partials right, once in the life of this store: what a kill left there waits no longer than for the next
    /// process that writes. What fails here is left to the next one.
    func tidyPartialsOnce() {
        if hasTidiedPartials || configuration.isReadOnly { return }
        hasTidiedPartials = true
        var result = SweepResult()
        try? sweepPartials(&result)
    }

    /// Sets right what kills and a lost index left in the folder of partials. There are few, so it is one step.
    func sweepPartials(_ result: inout SweepResult) throws(StoreError) {
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
        // What has its row is the usual case, and costs no transaction.
        var strays = Strays(small: small)
        for id in data where records[id] == nil { if try partialRow(id) == nil { strays.data.append(id) } }
        for (id, claim) in records { if try partialRow(id) == nil { strays.records.append((id, claim)) } }
        if !strays.isEmpty { try sweep(strays, &swept) }
        for row in try allPartialRows() {
            if !data.contains(row.id), try !change({ (_) throws(StoreError) in try putBack(row.id) }) {
                if FileStatus(at: paths.body(row.id)) == nil { swept.bytes += try dropIfIdle(row) }
                continue
            }
            // Killed between the unlinking of the two, or its record was not flushed when the power went.
            let record = records[row.id].map { paths.record(row.id, claim: $0) }
            if let record, try isRecorded(row, at: record) { continue }
            swept.bytes += try dropIfIdle(row, unlessRecorded: true)
        }
        result = swept
    }

    /// Files in the folder of partials that have no row.
    private struct Strays {
        var small: [String]
        var data: [Int64] = []
        var records: [(id: Int64, claim: Int64)] = []

        var isEmpty: Bool { small.isEmpty && data.isEmpty && records.isEmpty }
    }

    /// Deletes them, or takes them back; they are looked at again inside the transaction.
    private func sweep(_ strays: Strays, _ result: inout SweepResult) throws(StoreError) {
        var swept = result
        try change { (totals) throws(StoreError) in
            for name in strays.small { delete("\(paths.partials)/\(name)", &swept) }
            for id in strays.data where try partialRow(id) == nil { delete(paths.data(id), &swept) }
            for (id, claim) in strays.records where try partialRow(id) == nil {
                let path = paths.record(id, claim: claim)
                // Without a row it may be one that is just being made: then its data is locked.
                let file = try? File(paths.data(id), O_RDONLY)
                defer { withExtendedLifetime(file) {} }
                if let file, !file.tryLock(exclusive: true) { continue }
                let isAdopted = try file == nil ? false : adopt(id, claim: claim, &totals)
                if isAdopted {
                    swept.adopted += 1
                } else {
                    if file != nil, unlink(paths.data(id)) == 0 { swept.orphans += 1 }
                    delete(path, &swept)
                }
            }
        }
        result = swept
    }

    private func delete(_ path: String, _ result: inout SweepResult) {
        guard let status = FileStatus(at: path), !status.isFolder, deleteUnlessRead(path) else { return }
        result.orphans += 1
        result.bytes += status.allocated
    }

    /// Gives a partial its row back: its record says all that is needed. False if there is nothing in it.
    private func adopt(_ id: Int64, claim: Int64, _ totals: inout Totals) throws(StoreError) -> Bool {
        guard let file = try? File(paths.record(id, claim: claim), O_RDONLY),
            let record = try PartialRecord(reading: file), record.id == id, let status = file.status,
            let data = FileStatus(at: paths.data(id)), status.size > record.tailOffset
        else { return false }
        try insertPartial(
            id: id, claim: claim, key: record.key, reserved: status.allocated + data.allocated, &totals)
        return true
    }

    // MARK: All at once

    /// After an index was lost: what lies in the folders is not counted, so it goes before anything is written.
    func clearStrangers() throws(StoreError) {
        if try readTotals().hasStrangers == 0 { return }
        var result = SweepResult()
        for folder in Int64(0)..<256 {
            var names: [String] = []
            try forEachName(in: paths.folder(folder)) { names.append($0) }
            try sweepBodies(names, in: folder, &result)
            if FileStatus(at: paths.folder(folder)) != nil { try countFolder(folder) }
        }
        try sweepPartials(&result)
        try countFolder(Self.partialsFolder)
        try change { (totals) throws(StoreError) in totals.hasStrangers = 0 }
        logger.info(
            "files of a lost index were removed",
            metadata: ["count": "\(result.orphans)", "bytes": "\(result.bytes)", "partials kept": "\(result.adopted)"])
    }
}
