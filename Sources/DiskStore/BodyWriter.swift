package import ConcurrencyPrimitives
import Glibc

/// The state of a partial as a transfer needs it: its header, and the missing bytes.
package struct HeldBlocks: Sendable, Equatable {
    /// The bytes passed to ``BodyWriter/start(header:total:)`` when it was begun.
    package let header: [UInt8]
    /// The whole body's length, if known.
    package let total: Int64?
    /// The missing ranges, in order. With an unknown total the last range is open: it ends at `Int64.max`.
    package let missing: [Range<Int64>]
    /// The number of bytes that are present and match their checksums.
    package let bytesHeld: Int64
}

/// Receives a body as it arrives and creates an entry from it.
///
/// Bytes are collected in one 256 KiB block in memory; a full block is hashed, written at its position and recorded in
/// the partial's record, so that a kill costs at most that block. A body of at most one block has no partial: it stays
/// in memory until it is complete.
///
/// Not `Sendable`: used by one thread at a time. A writer that is released without ``commit(_:)``, ``keep()`` or
/// ``discard()`` leaves its full blocks as a partial, like a killed process.
package final class BodyWriter {
    /// The bytes of a block: the unit in which a body is hashed, recorded and, after a kill, fetched again.
    package static let unit = BlockMap.blockSize

    package let key: EntryKey
    /// The epoch in which the body was requested; in another one, the partial is not found by look-ups. `nil`: any.
    package var epoch: Generation.Epoch?
    private let store: DiskStore
    private var header: [UInt8]?
    private var total: Int64?
    private(set) var partial: Partial?
    private var buffer: BlockBuffer
    /// Incomplete blocks other than the one in `buffer`, by their indices: of bytes that came at other places.
    private var others: [Int64: BlockBuffer] = [:]
    private var spares: [BlockBuffer] = []
    private var isOver = false

    init(key: EntryKey, store: DiskStore, partial: Partial?) throws(StoreError) {
        self.key = key
        self.store = store
        self.partial = partial
        buffer = BlockBuffer()
        if let partial {
            header = partial.record.header
            total = partial.total
            try partial.verify(using: buffer.blockMemory)
            if let tail = partial.tail { buffer.adopt(start: tail.start, count: Int(tail.length)) }
        }
    }

    // MARK: Held bytes

    /// The held part of the body; nil if nothing was begun or claimed, or nothing arrived.
    package var held: HeldBlocks? {
        guard let header else { return nil }
        let held = bytesHeld
        if held == 0 { return nil }
        let blocks = partial?.blocks ?? BlockMap()
        return HeldBlocks(
            header: header, total: total,
            missing: blocks.missing(total: total, tails: [buffer.range] + others.values.map(\.range)), bytesHeld: held)
    }

    /// The number of the body's bytes that are present: in full blocks and in memory.
    package var bytesHeld: Int64 {
        others.values.reduce((partial?.blocks.heldBytes(total: total) ?? 0) + Int64(buffer.count)) {
            $0 + Int64($1.count)
        }
    }

    /// The number of contiguous bytes in the file from the body's start; they can be read while the rest arrives.
    ///
    /// Bytes in memory do not count: for a body of at most one block this is 0 until it is committed.
    package var availableEnd: Int64 {
        guard let partial else { return 0 }
        return min(BlockMap.start(of: partial.blocks.prefix), total ?? Int64.max)
    }

    /// A copy of the bytes in memory that follow ``availableEnd``: at most one block.
    package var tail: [UInt8] {
        let end = availableEnd
        if buffer.start == end, buffer.count > 0 { return Array(buffer.bytes) }
        return others[BlockMap.index(of: end)].map { Array($0.bytes) } ?? []
    }

    /// The bytes of a range, from the file and from memory. `nil` when they cannot be read; the range must be held (``held``).
    package func heldBytes(_ range: Range<Int64>) -> [UInt8]? {
        if others.values.contains(where: { $0.range.overlaps(range) }) { return nil }
        let inMemory = range.clamped(to: buffer.range)
        let inFile = range.lowerBound..<(inMemory.isEmpty ? range.upperBound : inMemory.lowerBound)
        var bytes: [UInt8] = []
        if !inFile.isEmpty {
            guard let partial, let read = try? partial.data.bytes(at: inFile.lowerBound, count: inFile.count) else {
                return nil
            }
            bytes = read
        }
        guard !inMemory.isEmpty else { return bytes.count == range.count ? bytes : nil }
        let start = Int(inMemory.lowerBound - buffer.start)
        bytes += buffer.bytes[start..<start + inMemory.count]
        return bytes.count == range.count ? bytes : nil
    }

    /// A new descriptor of the growing file, to be read up to ``availableEnd`` with `pread` and closed by the caller.
    /// It remains valid after the commit. nil while there is no file.
    package func readHandle() -> Int32? {
        guard let partial else { return nil }
        let descriptor = open(partial.data.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        return descriptor < 0 ? nil : descriptor
    }

    // MARK: Beginning

    /// Begins a body at byte 0; held bytes are discarded.
    ///
    /// - Parameters:
    ///   - header: Stored with the partial, for the caller to decide if it may be resumed.
    ///   - total: The body's length if known. Space is reserved for it now, and a body that can never fit is refused.
    /// - Throws: ``StoreError/Code/tooLarge``, ``StoreError/Code/full``.
    package func start(header: [UInt8], total: Int64?) throws(StoreError) {
        try dropHeld()
        self.header = header
        self.total = total
        buffer.empty(at: 0)
        guard let total else { return }
        if total < 0 { throw StoreError(.wrongLength, "a negative length") }
        // One block fits any capacity.
        if total > BlockMap.blockSize { try store.checkFits(total) }
        // A new file instead of truncating the old one: another process that still has that open cannot damage this
        // one.
        if total > BlockMap.blockSize { try makePartial() } else { try store.checkHolds(total) }
    }

    /// Continues a partial at the start of one of its missing ranges.
    ///
    /// - Parameters:
    ///   - offset: The start of one of the `missing` ranges of ``held``.
    ///   - total: The whole length, if it became known only now.
    package func resume(at offset: Int64, total: Int64? = nil) throws(StoreError) {
        if let total, self.total == nil {
            try store.checkFits(total)
            if total < (partial?.blocks).map({ BlockMap.start(of: $0.end) }) ?? 0 || total < buffer.end {
                throw StoreError(.wrongLength, "the body is shorter than what is held of it")
            }
            try partial?.setTotal(total)
            self.total = total
        }
        let missing = held?.missing ?? [0..<Int64.max]
        if missing.isEmpty && offset == self.total { return }  // It was complete already.
        guard header != nil, missing.contains(where: { $0.lowerBound == offset }) else {
            throw StoreError(.incomplete, "no missing range starts at byte \(offset)", path: partial?.data.path)
        }
        if offset != buffer.end || buffer.count == 0 { moveBuffer(to: offset) }
        if let partial, let total = self.total { try reserve(total, partial) }
    }

    // MARK: Bytes

    /// Appends the next bytes of the body. They may be in a file or in memory when it returns.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        if header == nil || isOver { throw StoreError(.incomplete, "bytes before a body was begun") }
        if let total, buffer.end + Int64(bytes.count) > total {
            throw StoreError(.wrongLength, "more than the \(total) bytes that were announced")
        }
        var rest = bytes
        while !rest.isEmpty {
            let block = BlockMap.range(of: BlockMap.index(of: buffer.end), total: total)
            let count = min(rest.count, Int(block.upperBound - buffer.end))
            let part = UnsafeRawBufferPointer(rebasing: rest[..<count])
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            // A whole block is written without a copy.
            if count == block.count, partial != nil {
                try flush(part, at: block.lowerBound)
                continue
            }
            let expected = total.map { Int(min($0, BlockMap.blockSize)) } ?? Int(BlockMap.blockSize)
            buffer.append(part, capacity: expected)
            let isWholeInMemory = partial == nil && total == buffer.end && buffer.start == 0
            if buffer.end == block.upperBound && !isWholeInMemory { try flush() }
        }
    }

    /// Writes bytes at any offset, unlike ``write(_:)``, for a body that arrives at several places. The body must be longer than
    /// one block, and its length known.
    ///
    /// - Parameter offset: The start of a missing block, or the end of bytes that its incomplete block has.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) {
        guard header != nil, !isOver, let total, let partial else {
            throw StoreError(.incomplete, "bytes before a body was begun")
        }
        if offset + Int64(bytes.count) > total {
            throw StoreError(.wrongLength, "more than the \(total) bytes that were announced")
        }
        var position = offset
        var rest = bytes
        while !rest.isEmpty {
            let index = BlockMap.index(of: position)
            let block = BlockMap.range(of: index, total: total)
            let other = otherBuffer(at: position)
            guard other.end == position, !partial.blocks[index] else {
                throw StoreError(.incomplete, "no missing range goes on at byte \(position)", path: partial.data.path)
            }
            let count = min(rest.count, Int(block.upperBound - position))
            let part = UnsafeRawBufferPointer(rebasing: rest[..<count])
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            position += Int64(count)
            // A whole block is written without a copy.
            let isWhole = count == block.count
            if !isWhole { other.append(part, capacity: Int(BlockMap.blockSize)) }
            if position == block.upperBound {
                try write(isWhole ? part : other.bytes, at: block.lowerBound, to: partial)
                others[index] = nil
                spares.append(other)
            }
        }
    }

    /// The buffer of the incomplete block at a position, or an empty one.
    private func otherBuffer(at position: Int64) -> BlockBuffer {
        if let other = others[BlockMap.index(of: position)] { return other }
        let other: BlockBuffer
        if buffer.count > 0, BlockMap.index(of: buffer.start) == BlockMap.index(of: position) {
            other = buffer
            buffer = spareBuffer(at: buffer.end)
        } else {
            other = spareBuffer(at: BlockMap.start(of: BlockMap.index(of: position)))
        }
        others[BlockMap.index(of: position)] = other
        return other
    }

    private func spareBuffer(at offset: Int64) -> BlockBuffer {
        let buffer = spares.popLast() ?? BlockBuffer()
        buffer.empty(at: offset)
        return buffer
    }

    /// Moves to another offset, and keeps the incomplete block at the former one.
    private func moveBuffer(to offset: Int64) {
        if buffer.count > 0 {
            others[BlockMap.index(of: buffer.start)] = buffer
            buffer = BlockBuffer()
        }
        buffer.empty(at: offset)
        if let other = others.removeValue(forKey: BlockMap.index(of: offset)), other.end == offset { buffer = other }
    }

    /// Compares the file with the received bytes, for a body without missing bytes.
    ///
    /// - Throws: ``StoreError/Code/altered`` if the file was modified by others: the blocks that differ are missing
    ///   from now on.
    package func verifyHeld() throws(StoreError) {
        guard let partial, let total, buffer.count == 0 else { return }
        _ = try partial.verifiedChecksums(total: total, using: buffer.blockMemory)
    }

    /// Ends the current range. Bytes in memory are kept for the next attempt.
    ///
    /// - Parameter complete: True if the range is complete; a cut is not an error.
    package func endRange(complete: Bool) throws(StoreError) {
        if complete, let total, buffer.end == total, partial != nil, buffer.count > 0 { try flush() }
    }

    /// Writes the block in memory, which is full or the body's last one.
    private func flush() throws(StoreError) {
        if buffer.count > 0 { try flush(buffer.bytes, at: buffer.start) }
    }

    /// Writes a full block, or the body's last one, and continues after it.
    private func flush(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) {
        if partial == nil { try makePartial() }
        guard let partial else { return }
        let end = offset + Int64(bytes.count)
        try reserve(end, partial)
        try write(bytes, at: offset, to: partial)
        buffer.empty(at: end)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, to partial: Partial) throws(StoreError) {
        let block = BlockMap.index(of: offset)
        try store.writeBlock { () throws(StoreError) in try partial.write(block: block, bytes) }
    }

    // MARK: The partial

    private func makePartial() throws(StoreError) {
        guard let header else { return }
        partial = try store.makePartial(key: key, header: header, total: total, held: buffer.end, epoch: epoch)
    }

    /// Ensures that space for `size` bytes is reserved; with an unknown length, in growing steps.
    private func reserve(_ size: Int64, _ partial: Partial) throws(StoreError) {
        let needed = Budget.rounded(total ?? size) + partial.record.allocation(for: total ?? size)
        if needed > partial.reserved { try store.reserve(needed, for: partial, isGrowing: total == nil, size: size) }
    }

    private func dropHeld() throws(StoreError) {
        if let partial {
            self.partial = nil
            try store.drop(partial)
        }
        others = [:]
        header = nil
    }

    // MARK: Ending

    /// Creates an entry from the body, replacing the one with the same key and variant.
    ///
    /// - Returns: The open body, which exists as long as the value lives, even if it is evicted at once.
    /// - Throws: ``StoreError/Code/incomplete`` if bytes are missing, ``StoreError/Code/outdated`` if its generation
    ///   has ended: the partial then remains and can be continued. ``StoreError/Code/altered`` if the file was modified
    ///   by others: intact blocks remain and can be continued.
    package func commit(_ entry: NewEntry) throws(StoreError) -> StoredBody { try commit(entry, isTransient: false) }

    /// Creates an entry from the body, as ``commit(_:)``. A body of at most one block shares its transaction with the commits
    /// that others have ready at the same time, but does not wait for others.
    ///
    /// - Parameter executor: The threads on which the other commits are prepared.
    package func commit(_ entry: NewEntry, on executor: BlockingExecutor) async throws(StoreError) -> StoredBody {
        guard partial == nil, header != nil, !isOver else { return try commit(entry) }
        let written = try write(isTransient: false)
        let generation = try await store.perform(written.commit(entry), on: executor)
        let body = try written.body(in: store, generation ?? entry.generation)
        end()
        return body
    }

    private func write(isTransient: Bool) throws(StoreError) -> DiskStore.WrittenBody {
        if let total, total != Int64(buffer.count) { throw StoreError(.incomplete, "bytes are missing") }
        return try store.write(buffer.bytes, isTransient: isTransient)
    }

    private func commit(_ entry: NewEntry, isTransient: Bool) throws(StoreError) -> StoredBody {
        guard header != nil, !isOver else { throw StoreError(.incomplete, "nothing was begun") }
        let body: StoredBody
        if let partial {
            let size = total ?? buffer.end
            if buffer.count > 0 && buffer.end == size { try flush() }
            guard partial.blocks.missing(total: size).isEmpty, partial.blocks.end == BlockMap.count(for: size) else {
                throw StoreError(.incomplete, "bytes are missing", path: partial.data.path)
            }
            if total == nil {
                try partial.setTotal(size)
                total = size
            }
            body = try store.commit(
                entry, partial, size: size, isTransient: isTransient, using: buffer.blockMemory)
            self.partial = nil
        } else {
            let written = try write(isTransient: isTransient)
            let generation = try store.perform([written.commit(entry)])[0].get()
            body = try written.body(in: store, generation ?? entry.generation)
        }
        end()
        return body
    }

    /// Creates a body that look-ups never find, for content that must be delivered and not be stored.
    ///
    /// It counts against the capacity and has a path while the returned value lives and the store is open, and is deleted then; after a kill, by
    /// the next sweep or when space is needed.
    ///
    /// - Parameter key: A key that no other body has.
    package func commitTransient(as key: EntryKey) throws(StoreError) -> StoredBody {
        // Never among the entries: unstorable content does not survive a kill.
        let body = try commit(NewEntry(key: key, url: "", metadata: []), isTransient: true)
        store.transientBodies.withLock { _ = $0.insert(body.entry.id) }
        return StoredBody(entry: body.entry, file: body.file, path: body.path, store: store) { [store] in
            store.deleteTransient(body.entry)
        }
    }

    /// Keeps the partial for a later writer of the key, including the bytes of one incomplete block; or deletes it, if
    /// the resource was invalidated meanwhile.
    package func keep() throws(StoreError) {
        if let epoch, store.isInvalidated(since: epoch) { return try discard() }
        defer { end() }
        guard let partial else { return }
        // The record has room for one incomplete block.
        let fullest = others.values.reduce(buffer) { $0.count < $1.count ? $1 : $0 }
        if fullest.count > 0 {
            do throws(StoreError) {
                try reserve(fullest.end, partial)
                try partial.write(tailAt: fullest.start, fullest.bytes)
            } catch  where error.code == .full {
                // Only full blocks are essential; the rest is fetched again.
            }
        }
        try store.release(partial)
    }

    /// Deletes the partial.
    package func discard() throws(StoreError) {
        defer { end() }
        try dropHeld()
    }

    private func end() {
        isOver = true
        header = nil
        partial = nil
        buffer = BlockBuffer()
        (others, spares) = ([:], [])
    }
}
