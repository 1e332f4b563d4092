package import FoundationEssentials
import Glibc

/// Information about a partial that is not claimed.
package struct PartialInfo: Sendable, Equatable {
    package let key: EntryKey
    /// The bytes passed to ``BodyWriter/start(header:total:)``.
    package let header: [UInt8]
    /// The whole body's length, if known.
    package let total: Int64?
    /// The bytes in the blocks recorded as present. They are verified when the partial is continued.
    package let bytesHeld: Int64
    /// The space that it occupies on disk now.
    package let allocated: Int64
    /// The time of the last write.
    package let updated: Date
    /// True if a writer uses it now.
    package let isInUse: Bool
}

extension DiskStore {
    /// The key's partial, the most recently used one if there are several.
    package func partial(for key: EntryKey) throws(StoreError) -> PartialInfo? {
        let rows = try withIndex { (index) throws(StoreError) in try index.catalogue().partials.partials(of: key) }
        for row in rows {
            if let info = try info(of: row) { return info }
        }
        return nil
    }

    /// All partials, the longest idle first.
    package func partials() throws(StoreError) -> [PartialInfo] {
        let rows = try withIndex { (index) throws(StoreError) in try index.catalogue().partials.all() }
        var all: [PartialInfo] = []
        for row in rows {
            if let info = try info(of: row) { all.append(info) }
        }
        return all
    }

    /// Opens the key's partial for reading, the most recently used one if there are several, without claiming or
    /// locking it. Notes its use, so that it is evicted later.
    package func openPartial(for key: EntryKey) throws(StoreError) -> PartialBody? {
        let rows = try withIndex { (index) throws(StoreError) in try index.catalogue().partials.partials(of: key) }
        for row in rows {
            guard let files = try openFiles(of: row) else { continue }
            try noteUse(of: row)
            return try PartialBody(files)
        }
        return nil
    }

    /// Notes the use of a partial, once a minute.
    private func noteUse(of row: PartialRow) throws(StoreError) {
        let now = configuration.clock().milliseconds
        if configuration.isReadOnly || abs(now - row.updated) < 60_000 { return }
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                try index.catalogue().partials.noteUse(ofPartial: row.id, at: now)
            }
        }
    }

    /// Removes the key's partials; those in use are left to their writers, and look-ups no longer find them.
    package func removePartials(for key: EntryKey) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.removePartials(for: key) }
    }

    /// Removes the partials that match, those in use as ``removePartials(for:)``.
    ///
    /// - Returns: Their number.
    func removePartials(where matches: (PartialInfo) -> Bool) throws(StoreError) -> Int {
        let found = try partials().filter(matches)
        for partial in found { try removePartials(for: partial.key) }
        return found.count
    }

    private func info(of row: PartialRow) throws(StoreError) -> PartialInfo? {
        guard let files = try openFiles(of: row), let recordStatus = files.recordFile.status,
            let dataStatus = files.data.status
        else { return nil }
        let isInUse = try withIndex { (index) throws(StoreError) in try index.seemsInUse(row, files.data) }
        return PartialInfo(
            key: row.key, header: files.record.header, total: files.record.total,
            bytesHeld: try files.recordFile.claimedBytes(files.record),
            allocated: recordStatus.allocated + dataStatus.allocated, updated: Date(milliseconds: row.updated),
            isInUse: isInUse
        )
    }

    /// Opens a partial with any claim for reading, without claiming or locking it. `nil` if the partial no longer
    /// exists, or its record does not match the index.
    func openFiles(of row: PartialRow) throws(StoreError) -> PartialFiles? {
        guard let recordFile = try openRecord(of: row), let record = try PartialRecord(reading: recordFile),
            record.id == row.id, record.key == row.key, let data = try File.ifReadable(paths.data(row.id))
        else { return nil }
        return PartialFiles(record: record, recordFile: recordFile, data: data)
    }

    private func openRecord(of row: PartialRow) throws(StoreError) -> File? {
        if let file = try File.ifReadable(paths.record(row.id, claim: row.claim)) { return file }
        guard let other = try withIndex({ (index) throws(StoreError) in try index.recordPath(of: row.id) }) else {
            return nil
        }
        return try File.ifReadable(other)
    }
}

extension File {
    /// The bytes in filled slots, and in the tail.
    fileprivate func claimedBytes(_ record: PartialRecord) throws(StoreError) -> Int64 {
        var bytes = try tail(of: record)?.length ?? 0
        try forEachSlot(of: record) { block, checksum in
            if checksum != .none { bytes += Int64(BlockMap.range(of: block, total: record.total).count) }
        }
        return bytes
    }
}

/// A partial's two files, open for reading, and its record.
struct PartialFiles {
    let record: PartialRecord
    let recordFile: File
    let data: File
}
