import DiskStore
import HTTPSemantics

/// The rules by which a range of a representation is fetched: by its blocks, or with all that is missing of the body. Pure values.
enum RangePlan {
    /// The unit in bytes in which a body is fetched, verified and stored.
    static let block = BodyWriter.unit
    /// The bytes that are requested at a time for one reader. A reader gets the next window while it reads the present one.
    static let window: Int64 = 8 << 20
    /// A body of at most this size in bytes is completed in the background after its first range.
    static let smallBody: Int64 = 4 << 20
    /// A reader that has all of these bytes before its position is taken for a sequential one.
    static let sequentialRun: Int64 = 4 << 20
    /// The rest of a body, in bytes, that is fetched in the background for a sequential reader.
    static let backgroundRest: Int64 = 64 << 20
    /// The most bytes before the wanted ones that are received from a server that ignores ranges. Each request receives them again.
    static let skipped = window

    /// The range to request of a body about which nothing is known, in whole blocks; `nil` to request all of it.
    ///
    /// A suffix is extended by one block, so that it contains the start of the block in which it begins, unless it is longer than a window.
    static func first(for range: ByteRange) -> ByteRange? {
        switch range {
        // The reader wants the whole body.
        case .from(0, nil): return nil
        case .from(let first, let last):
            let start = first / block * block
            let (limit, overflow) = start.addingReportingOverflow(window)
            if overflow { return nil }
            let end = last.map { min($0, limit - 1) / block * block + block } ?? limit
            return .from(start, through: min(end, limit) - 1)
        case .suffix(let count): return count == 0 ? nil : .suffix(min(count, window) + block - 1)
        }
    }

    /// The range to request after a 416 to the first one: the last block tells the length of the body. `nil` after that.
    static func end(insteadOf range: ByteRange) -> ByteRange? {
        if case .from = range { .suffix(block) } else { nil }
    }

    /// The bytes of the whole blocks that a range touches.
    static func blocks(of range: Range<Int64>) -> Range<Int64> {
        range.lowerBound / block * block..<(range.upperBound + block - 1) / block * block
    }

    /// The bytes of the blocks that a range contains completely.
    static func wholeBlocks(in range: Range<Int64>, of total: Int64) -> Range<Int64> {
        let start = (range.lowerBound + block - 1) / block * block
        let end = range.upperBound == total ? total : range.upperBound / block * block
        return start < end ? start..<end : range.lowerBound..<range.lowerBound
    }

    /// The part of a range that is requested for a reader at a position of it.
    static func window(at position: Int64, of range: Range<Int64>) -> Range<Int64> {
        position..<min(range.upperBound, (position / block + window / block) * block)
    }

    /// Returns true if the rest of a body is fetched in the background, after a reader has ended.
    ///
    /// - Parameters:
    ///   - position: The end of the bytes that the reader got.
    ///   - before: The contiguous bytes that are present before the position.
    static func completes(_ total: Int64, after position: Int64, with before: Int64) -> Bool {
        if total <= smallBody { return true }
        return before >= sequentialRun && total - position <= backgroundRest
    }
}
