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

    /// Drops the key's partials that nobody works on.
    public func dropPartials(for key: EntryKey) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            for row in try index.partialRows(for: key) { _ = try index.dropIfIdle(row) }
        }
    }

    private func info(of row: PartialRow) throws(StoreError) -> PartialInfo? {
        guard let file = try openRecord(of: row), let record = try PartialRecord(reading: file),
            let recordStatus = file.status, let data = try? File(paths.data(row.id), O_RDONLY),
            let dataStatus = data.status
        else { return nil }
        // A shared lock that is let go at once tells whether the exclusive one is held; nobody waits for either.
        let isInUse = !data.tryLock(exclusive: false)
        return PartialInfo(
            key: row.key, header: record.header, total: record.total,
            bytesHeld: try file.claimedBytes(record),
            allocated: recordStatus.allocated + dataStatus.allocated, updated: Index.date(row.updated), isInUse: isInUse
        )
    }
}

extension File {
    /// Counts the slots that are filled, and the tail.
    fileprivate func claimedBytes(_ record: PartialRecord) throws(StoreError) -> Int64 {
        var bytes: Int64 = 0
        try forEachSlot(of: record) { block, checksum in
            if checksum != .none { bytes += Int64(BlockMap.range(of: block, total: record.total).count) }
        }
        if let noted = try self.bytes(at: record.tailOffset, count: PartialRecord.tailSize),
            let tail = PartialTail(noted)
        {
            bytes += tail.length
        }
        return bytes
    }

    /// Calls `body` with each block that the record has a slot for.
    func forEachSlot(of record: PartialRecord, _ body: (Int64, Checksum) -> Void) throws(StoreError) {
        let slots = max(0, (status?.size ?? 0) - record.slotsOffset) / Int64(Checksum.byteCount)
        let count = min(slots, record.total.map(BlockMap.count) ?? slots)
        var block: Int64 = 0
        while block < count {
            let some = min(count - block, 4096)
            guard let page = try bytes(at: record.slotOffset(block), count: Int(some) * Checksum.byteCount) else {
                break
            }
            page.withUnsafeBytes { page in
                for position in 0..<Int(some) {
                    body(
                        block + Int64(position),
                        Checksum(UnsafeRawBufferPointer(rebasing: page[(position * Checksum.byteCount)...])))
                }
            }
            block += some
        }
    }
}
