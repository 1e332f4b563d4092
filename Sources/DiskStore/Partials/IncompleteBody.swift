import ConcurrencyPrimitives
import Glibc

/// A partial of which several threads read and write single blocks.
///
/// Unlike a ``BodyWriter``, it reserves space for single blocks instead of the whole body, and verifies each block before its first use. The length of
/// the body is always known. A value that is released without ``keep()`` or ``discard()`` leaves its blocks on disk, as a killed process does.
package final class IncompleteBody: Sendable {
    /// The length of the longest body, in bytes: 16 TiB, as of a file on ext4. An origin may claim any length, and the record of a body has a slot for
    /// each of its blocks.
    package static let longest: Int64 = 1 << 44

    /// The body's length in bytes.
    package let total: Int64

    private struct State {
        let partial: Partial
        /// The blocks that were received or verified since it was opened.
        var verified = BlockMap()
    }

    private let store: DiskStore
    private let epoch: Generation.Epoch
    private let data: File
    private let recordFile: File
    private let state: Locked<State>
    /// The ranges that space was reserved for since it was opened. Locked during a change, which is a transaction of the index.
    private let reservation = Locked(RangeSet<Int64>())

    fileprivate init(_ partial: sending Partial, total: Int64, _ epoch: Generation.Epoch, in store: DiskStore) {
        self.total = total
        self.store = store
        self.epoch = epoch
        data = partial.data
        recordFile = partial.recordFile
        state = Locked(State(partial: partial))
    }

    /// The bytes that describe the body for the caller.
    package var header: [UInt8] { state.withLock { $0.partial.record.header } }

    // MARK: Reading

    /// The missing ranges of whole blocks in the blocks that a range touches, in order.
    package func missing(in range: Range<Int64>) -> [Range<Int64>] {
        let blocks = blocks(in: range)
        let runs = state.withLock { $0.partial.blocks.missingRuns(in: blocks) }
        return runs.map { run in
            BlockMap.start(of: run.lowerBound)..<BlockMap.range(of: run.upperBound - 1, total: total).upperBound
        }
    }

    /// The end of the contiguous verified bytes from a position on; the position itself if its block is missing or not verified.
    package func availableEnd(from position: Int64) -> Int64 {
        state.withLock { state in
            var end = position
            while end < total, state.verified[BlockMap.index(of: end)] {
                end = BlockMap.range(of: BlockMap.index(of: end), total: total).upperBound
            }
            return end
        }
    }

    /// The number of contiguous bytes that are present before a position, up to a limit.
    package func heldBytes(before position: Int64, upTo limit: Int64) -> Int64 {
        state.withLock { state in
            var block = BlockMap.index(of: position)
            while block > 0, position - BlockMap.start(of: block) < limit, state.partial.blocks[block - 1] {
                block -= 1
            }
            return max(0, position - BlockMap.start(of: block))
        }
    }

    /// Reads the blocks of a range that were not verified yet. Damaged ones are missing from now on.
    package func verify(_ range: Range<Int64>) throws(StoreError) {
        var buffer: UnsafeMutableRawBufferPointer?
        defer { buffer.map(BlockMemory.give) }
        for block in blocks(in: range) {
            let slot = state.withLock { state in
                state.partial.blocks[block] && !state.verified[block] ? state.partial.record.slotOffset(block) : nil
            }
            guard let slot else { continue }
            let memory = buffer ?? BlockMemory.take(Int(BodyWriter.unit))
            buffer = memory
            let recorded = try recordFile.bytes(at: slot, count: Checksum.byteCount)?.withUnsafeBytes { Checksum($0) }
            let isIntact = try data.checksum(of: BlockMap.range(of: block, total: total), using: memory) == recorded
            try state.withLock { (state) throws(StoreError) in
                // Another caller may have found the damage, and the block may have been written again since.
                guard state.partial.blocks[block], !state.verified[block] else { return }
                if !isIntact { try recordFile.write(Checksum.none.bytes, at: slot) }
                state.verified[block] = isIntact
                state.partial.note(block, isPresent: isIntact)
            }
        }
    }

    /// The blocks that are present now, open for reading by themselves.
    package func opened() throws(StoreError) -> PartialBody {
        let record = state.withLock { $0.partial.record }
        return try PartialBody(
            PartialFiles(
                record: record, recordFile: try File(recordFile.path, O_RDONLY), data: try File(data.path, O_RDONLY)))
    }

    private func blocks(in range: Range<Int64>) -> Range<Int64> {
        let range = range.clamped(to: 0..<total)
        if range.isEmpty { return 0..<0 }
        return BlockMap.index(of: range.lowerBound)..<BlockMap.index(of: range.upperBound - 1) + 1
    }

    // MARK: Writing

    /// Reserves space for missing ranges of whole blocks, in addition to those of earlier calls. A range that was reserved before, and whose
    /// blocks are still missing, is not reserved again.
    ///
    /// - Throws: ``StoreError/Code/tooLarge`` or ``StoreError/Code/full``.
    package func reserve(_ ranges: [Range<Int64>]) throws(StoreError) {
        if ranges.isEmpty { return }
        try reservation.withLock { (known) throws(StoreError) in
            let new = RangeSet(ranges).subtracting(known)
            if new.isEmpty { return }
            // Besides its blocks, a range takes pages of the record, which has a slot for each block.
            let bytes = new.ranges.reduce(Int64(0)) { sum, range in
                let slots = BlockMap.count(for: Int64(range.count)) * Int64(Checksum.byteCount)
                return sum + Budget.rounded(Int64(range.count)) + Budget.rounded(slots) + Budget.page
            }
            let (id, reserved) = state.withLock { ($0.partial.id, $0.partial.reserved) }
            try store.reserve(reserved + bytes, forPartial: id, reserved: reserved)
            state.withLock { $0.partial.reserved = reserved + bytes }
            known.formUnion(new)
        }
    }

    /// Writes a whole block, or the body's last one, at its offset. No other thread writes the same block.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) {
        let block = BlockMap.index(of: offset)
        guard BlockMap.range(of: block, total: total) == offset..<offset + Int64(bytes.count) else {
            throw StoreError(.wrongLength, "\(bytes.count) bytes at \(offset) are no block", path: data.path)
        }
        try store.writeBlock { () throws(StoreError) in try data.write(bytes, at: offset) }
        // The slot is written last, so it never describes missing bytes.
        let slot = state.withLock { $0.partial.record.slotOffset(block) }
        try recordFile.write(Checksum(of: bytes).bytes, at: slot)
        state.withLock { state in
            state.partial.note(block, isPresent: true)
            state.verified[block] = true
        }
    }

    /// Replaces the header by one of the same length.
    ///
    /// - Returns: False if it has another length; the former header then remains.
    package func setHeader(_ header: [UInt8]) throws(StoreError) -> Bool {
        var record = state.withLock { $0.partial.record }
        guard record.header.count == header.count else { return false }
        record.header = header
        try recordFile.write(record.encoded(), at: 0)
        state.withLock { $0.partial.noteHeader(header) }
        return true
    }

    // MARK: Ending

    /// True if no block is missing.
    package var isComplete: Bool { state.withLock { $0.partial.blocks.prefix == BlockMap.count(for: total) } }

    /// Ends the use, and creates an entry from the complete body, as ``BodyWriter/commit(_:)`` does. After an error the value is still in use.
    package func commit(_ entry: NewEntry) throws(StoreError) -> StoredBody {
        let buffer = BlockMemory.take(Int(BodyWriter.unit))
        defer { BlockMemory.give(buffer) }
        return try state.withLock { (state) throws(StoreError) in
            try store.commit(entry, state.partial, size: total, using: buffer)
        }
    }

    /// Ends the use, and keeps the blocks; deletes them if the resource was invalidated meanwhile. No other thread may use the value any more,
    /// except to read ``opened()`` bodies.
    package func keep() throws(StoreError) {
        if store.isInvalidated(since: epoch) { return try discard() }
        defer { data.unlock() }
        try state.withLock { (state) throws(StoreError) in try store.release(state.partial) }
    }

    /// Ends the use, and deletes the blocks.
    package func discard() throws(StoreError) {
        defer { data.unlock() }
        try state.withLock { (state) throws(StoreError) in try store.drop(state.partial) }
    }
}

extension DiskStore {
    /// Opens the key's partial to read and add blocks; `nil` if there is none that is idle, or if its length is unknown.
    package func openIncomplete(
        for key: EntryKey, in epoch: Generation.Epoch
    ) throws(StoreError) -> IncompleteBody? {
        guard let partial = try claimPartial(for: key), let total = partial.total else { return nil }
        try partial.trustSlots()
        return IncompleteBody(partial, total: total, epoch, in: self)
    }

    /// Makes a partial of a body without any block.
    ///
    /// - Parameters:
    ///   - header: Stored with the partial, for the caller to decide if it may be continued.
    ///   - total: The body's length in bytes, at most ``IncompleteBody/longest``.
    /// - Throws: ``StoreError/Code/tooLarge`` for a longer one, and the errors of the index.
    package func makeIncomplete(
        for key: EntryKey, header: [UInt8], total: Int64, in epoch: Generation.Epoch
    ) throws(StoreError) -> IncompleteBody {
        let partial = try makePartial(key: key, header: header, total: total, held: 0, epoch: epoch, reservesAll: false)
        return IncompleteBody(partial, total: total, epoch, in: self)
    }
}
