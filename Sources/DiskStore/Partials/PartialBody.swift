import ConcurrencyPrimitives
import Glibc

/// The present part of an incomplete body, open for reading without being claimed: its writer, if there is one,
/// continues.
///
/// Written bytes do not change: a writer that starts over creates a new file. The file is not kept in the store, but
/// the descriptor remains readable while the value lives.
package final class PartialBody: Sendable {
    /// The bytes passed to ``BodyWriter/start(header:total:)``.
    package let header: [UInt8]
    /// The whole body's length, if known.
    package let total: Int64?
    /// The ranges recorded as present: ascending, disjoint, not empty. See ``isIntact(_:)``.
    package let held: [Range<Int64>]
    /// Open for reading; closed with this value. Read with `pread`.
    package var descriptor: Int32 { data.descriptor }

    /// The blocks that were read and found intact.
    private struct Verified {
        /// The time of the file's last change then.
        var modified: FileTime?
        /// The ends of their bytes.
        var ends: [Int64: Int64] = [:]
    }

    let data: File
    private let verified = Locked(Verified())
    private let recordFile: File
    private let slotsOffset: Int64
    private let tail: PartialTail?

    init(_ files: PartialFiles) throws(StoreError) {
        let record = files.record
        header = record.header
        total = record.total
        slotsOffset = record.slotsOffset
        data = files.data
        recordFile = files.recordFile
        var blocks = BlockMap()
        try recordFile.forEachSlot(of: record) { block, checksum in blocks[block] = checksum != .none }
        tail = try recordFile.tail(of: record).flatMap { blocks[BlockMap.index(of: $0.start)] ? nil : $0 }
        held = blocks.held(total: record.total, tails: tail.map { [$0.range] } ?? [])
    }

    /// Returns true if every block that the range touches is present and matches its checksum. Reads the blocks that it has not read yet since the
    /// file was changed.
    package func isIntact(_ range: Range<Int64>) throws(StoreError) -> Bool {
        let modified = data.status?.modified
        var block = BlockMap.index(of: range.lowerBound)
        var buffer: UnsafeMutableRawBufferPointer?
        defer { buffer.map(BlockMemory.give) }
        while BlockMap.start(of: block) < range.upperBound {
            let end = min(range.upperBound, BlockMap.start(of: block + 1))
            if !isVerified(block, upTo: end, of: modified) {
                let memory = buffer ?? BlockMemory.take(Int(BlockMap.blockSize))
                buffer = memory
                guard let bytes = try readVerified(block, into: memory), bytes.upperBound >= end else { return false }
                verified.withLock { verified in
                    if verified.modified != modified { verified = Verified(modified: modified) }
                    verified.ends[block] = bytes.upperBound
                }
            }
            block += 1
        }
        return true
    }

    /// Returns true if every block that the range touches was found intact before. Does not read them.
    package func isVerified(_ range: Range<Int64>) -> Bool {
        let modified = data.status?.modified
        let blocks =
            BlockMap.index(of: range.lowerBound)...BlockMap.index(of: max(range.lowerBound, range.upperBound - 1))
        return blocks.allSatisfy {
            isVerified($0, upTo: min(range.upperBound, BlockMap.start(of: $0 + 1)), of: modified)
        }
    }

    private func isVerified(_ block: Int64, upTo end: Int64, of modified: FileTime?) -> Bool {
        verified.withLock { verified in
            guard let modified, verified.modified == modified, let known = verified.ends[block] else { return false }
            return known >= end
        }
    }

    /// Reads at `offset` until `buffer` is full or the file ends; returns the number of bytes.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        try data.read(into: buffer, at: offset)
    }

    /// False if the partial was deleted.
    package var isStored: Bool { (data.status?.links ?? 0) > 0 }

    /// Reads the bytes of a block that are present; nil if there are none, more than the memory holds, or they do not match their checksum.
    func readVerified(
        _ block: Int64, into memory: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> Range<Int64>? {
        guard let (bytes, checksum) = try expected(of: block), bytes.count <= memory.count else { return nil }
        let memory = UnsafeMutableRawBufferPointer(rebasing: memory[..<bytes.count])
        guard try data.read(into: memory, at: bytes.lowerBound) == bytes.count,
            Checksum(of: UnsafeRawBufferPointer(memory)) == checksum
        else { return nil }
        return bytes
    }

    /// The bytes of a block that are present, and their checksum.
    private func expected(of block: Int64) throws(StoreError) -> (bytes: Range<Int64>, checksum: Checksum)? {
        if let tail, BlockMap.index(of: tail.start) == block { return (tail.range, tail.checksum) }
        let offset = slotsOffset + block * Int64(Checksum.byteCount)
        guard let slot = try recordFile.bytes(at: offset, count: Checksum.byteCount) else { return nil }
        let checksum = slot.withUnsafeBytes { Checksum($0) }
        let bytes = BlockMap.range(of: block, total: total)
        return checksum == .none || bytes.isEmpty ? nil : (bytes, checksum)
    }
}

extension BodyWriter {
    /// The body's file, open for reading by itself, also after the commit; nil while there is no file.
    package func openedBody() throws(StoreError) -> PartialBody? {
        guard let partial else { return nil }
        return try PartialBody(
            PartialFiles(
                record: partial.record, recordFile: try File(partial.recordFile.path, O_RDONLY),
                data: try File(partial.data.path, O_RDONLY)))
    }

    /// True if a range is in the file: all blocks that it touches.
    package func hasBlocks(of range: Range<Int64>) -> Bool {
        guard let partial, !range.isEmpty else { return false }
        let blocks = BlockMap.index(of: range.lowerBound)...BlockMap.index(of: range.upperBound - 1)
        return blocks.allSatisfy { partial.blocks[$0] }
    }
}

extension PartialBody {
    /// The bytes of a range, behind a prefix, each block compared with its checksum; nil if one is missing, or was altered.
    ///
    /// - Parameter range: It begins at the start of a block, and ends with one.
    package func verifiedBytes(_ range: Range<Int64>, behind prefix: [UInt8]) throws(StoreError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: prefix.count + range.count)
        bytes.replaceSubrange(0..<prefix.count, with: prefix)
        var position = range.lowerBound
        while position < range.upperBound {
            let start = prefix.count + Int(position - range.lowerBound)
            let block = bytes.withUnsafeMutableBytes { bytes in
                Result { () throws(StoreError) in
                    try readVerified(
                        BlockMap.index(of: position), into: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
                }
            }
            guard let block = try block.get(), block.lowerBound == position else { return nil }
            position = block.upperBound
        }
        return bytes
    }
}
