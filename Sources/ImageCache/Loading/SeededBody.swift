import ConcurrencyPrimitives
import DiskStore

/// A body of which files have bytes: it copies those, and the transfer brings the rest.
///
/// Blocks that the seed has as a whole are copied at the beginning. Bytes of a block between two missing ranges are copied when the transfer gets
/// there, because a block is written once. Used by one thread at a time, like its writer.
final class SeededBody {
    /// Missing ranges with fewer bytes between them are one request.
    private static let leastGap: Int64 = 16 << 10

    private let seed: any BodySeed
    private let writer: BodyWriter
    /// The ranges that the transfer brings.
    private var holes: RangeSet<Int64>
    /// The end of the range that is being received.
    private var rangeEnd: Int64 = 0

    var total: Int64 { seed.total }

    /// `nil` if no file has bytes of the body.
    init?(_ seed: any BodySeed, in writer: BodyWriter) {
        holes = RangeSet(seed.missing).closingGaps(upTo: Self.leastGap)
        if holes == RangeSet(0..<seed.total) { return nil }
        self.seed = seed
        self.writer = writer
    }

    private var written: [Range<Int64>] { writer.held?.missing ?? [0..<total] }

    /// The ranges that the transfer has not brought yet.
    var missing: [Range<Int64>] {
        let written = written
        let missing = RangeSet(written).intersection(holes)
        return missing.isEmpty ? written : Array(missing.ranges)
    }

    /// Copies all blocks without a hole, as far as they are not written.
    func copyBlocks() throws(StoreError) {
        let buffer = BlockMemory.take(Int(BodyWriter.unit))
        defer { BlockMemory.give(buffer) }
        for range in written {
            var position = range.lowerBound
            while position < range.upperBound, !Task.isCancelled {
                // The first one may go on with a block that is incomplete.
                let part = position..<min(Self.blockEnd(position), range.upperBound)
                position = part.upperBound
                guard holes.isDisjoint(RangeSet(part)) else { continue }
                let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<part.count])
                if seed.read(part, into: bytes) {
                    try writer.write(UnsafeRawBufferPointer(bytes), at: part.lowerBound)
                } else {
                    holes.insert(contentsOf: part)
                }
            }
        }
    }

    /// Copies the bytes of a block that are before a range of the transfer.
    func begin(_ range: Range<Int64>) throws {
        rangeEnd = range.upperBound
        let offset = range.lowerBound
        guard offset % BodyWriter.unit > 0 else { return }
        let start = offset - offset % BodyWriter.unit
        let unwritten = written.first { $0.contains(offset) }?.lowerBound ?? start
        try copy(max(start, unwritten)..<offset)
    }

    /// Copies the bytes of a block that follow the range of the transfer, up to the next hole.
    func endRange() throws {
        guard rangeEnd % BodyWriter.unit > 0, !holes.contains(rangeEnd) else { return }
        let end = min(Self.blockEnd(rangeEnd), total)
        let next = holes.ranges.first { $0.lowerBound >= rangeEnd }?.lowerBound ?? end
        try copy(rangeEnd..<min(end, next))
    }

    private static func blockEnd(_ offset: Int64) -> Int64 { offset - offset % BodyWriter.unit + BodyWriter.unit }

    /// Copies a range within one block. The writer has the bytes before it.
    private func copy(_ range: Range<Int64>) throws {
        if range.isEmpty { return }
        let buffer = BlockMemory.take(Int(BodyWriter.unit))
        defer { BlockMemory.give(buffer) }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
        guard seed.read(range, into: bytes) else {
            throw ImageCacheError(.wrongBytes, message: "a file of which bytes were used has changed; try again")
        }
        try writer.write(UnsafeRawBufferPointer(bytes), at: range.lowerBound)
    }
}

extension RangeSet<Int64> {
    /// The set, with the gaps between its ranges that are of at most so many bytes.
    func closingGaps(upTo length: Int64) -> RangeSet {
        var whole = self
        for (range, next) in zip(ranges, ranges.dropFirst()) where next.lowerBound - range.upperBound <= length {
            whole.insert(contentsOf: range.upperBound..<next.lowerBound)
        }
        return whole
    }
}
