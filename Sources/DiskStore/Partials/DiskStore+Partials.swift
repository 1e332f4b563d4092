public import FoundationEssentials
import Glibc

/// What is known of a partial without claiming it.
public struct PartialInfo: Sendable, Equatable {
    public let key: EntryKey
    /// The bytes given to ``BodyWriter/start(header:total:)``.
    public let header: [UInt8]
    /// The whole body's length, if it is known.
    public let total: Int64?
    /// Bytes in blocks that the record says are there. They are verified when the partial is continued.
    public let bytesHeld: Int64
    /// What it occupies on disk now.
    public let allocated: Int64
    /// When it was last worked on.
    public let updated: Date
    /// Whether somebody works on it now.
    public let isInUse: Bool
}

extension DiskStore {
    /// The key's partial, the one last worked on if there are several.
    public func partial(for key: EntryKey) throws(StoreError) -> PartialInfo? {
        let rows = try withIndex { (index) throws(StoreError) in try index.partialRows(for: key) }
        for row in rows {
            if let info = try info(of: row) { return info }
        }
        return nil
    }

    /// All partials, the longest idle first.
    public func partials() throws(StoreError) -> [PartialInfo] {
        let rows = try withIndex { (index) throws(StoreError) in try index.allPartialRows() }
        var all: [PartialInfo] = []
        for row in rows {
            if let info = try info(of: row) { all.append(info) }
        }
        return all
    }

    private func info(of row: PartialRow) throws(StoreError) -> PartialInfo? {
        var path = paths.record(row.id, claim: row.claim)
        if FileStatus(at: path) == nil {
            guard let other = try withIndex({ (index) throws(StoreError) in try index.recordPath(of: row.id) }) else {
                return nil
            }
            path = other
        }
        guard let file = try? File(path, O_RDONLY), let record = try PartialRecord(reading: file),
            let recordStatus = file.status, let data = try? File(paths.data(row.id), O_RDONLY),
            let dataStatus = data.status
        else { return nil }
        // A shared lock that is let go at once tells whether the exclusive one is held; nobody waits for either.
        let isInUse = !data.tryLock(exclusive: false)
        return PartialInfo(
            key: row.key, header: record.header, total: record.total,
            bytesHeld: try file.claimedBytes(record, recordSize: recordStatus.size),
            allocated: recordStatus.allocated + dataStatus.allocated, updated: Index.date(row.updated), isInUse: isInUse
        )
    }
}

extension File {
    /// Counts the slots that are filled, and the tail.
    fileprivate func claimedBytes(_ record: PartialRecord, recordSize: Int64) throws(StoreError) -> Int64 {
        let slots = max(0, recordSize - record.slotsOffset) / Int64(Checksum.byteCount)
        let count = min(slots, record.total.map(BlockMap.count) ?? slots)
        var bytes: Int64 = 0
        var block: Int64 = 0
        while block < count {
            let some = min(count - block, 4096)
            guard let page = try self.bytes(at: record.slotOffset(block), count: Int(some) * Checksum.byteCount) else {
                break
            }
            page.withUnsafeBytes { page in
                for position in 0..<Int(some) {
                    let slot = Checksum(UnsafeRawBufferPointer(rebasing: page[(position * Checksum.byteCount)...]))
                    let range = BlockMap.range(of: block + Int64(position), total: record.total)
                    if slot != .none { bytes += Int64(range.count) }
                }
            }
            block += some
        }
        if let noted = try self.bytes(at: record.tailOffset, count: PartialRecord.tailSize),
            let tail = PartialTail(noted)
        {
            bytes += tail.length
        }
        return bytes
    }
}
