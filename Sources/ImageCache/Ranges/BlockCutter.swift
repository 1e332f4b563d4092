import ConcurrencyPrimitives

/// Cuts bytes that arrive in order into the blocks of a body.
///
/// Bytes before the first start of a block, and after the last end of one, are dropped.
final class BlockCutter {
    /// The offset of the next byte that arrives.
    private(set) var position: Int64
    private let end: Int64
    private let total: Int64
    private var memory: UnsafeMutableRawBufferPointer?
    private var count = 0

    init(_ range: Range<Int64>, of total: Int64) {
        position = range.lowerBound
        end = range.upperBound
        self.total = total
    }

    deinit { memory.map(BlockMemory.give) }

    /// True if all bytes of the range have arrived.
    var isComplete: Bool { position >= end }

    /// - Parameter write: Called with each whole block, and its offset.
    func append(
        _ bytes: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer, Int64) throws -> Void
    ) throws {
        var rest = UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, Int(end - position))])
        while !rest.isEmpty {
            let start = position / RangePlan.block * RangePlan.block
            let blockEnd = min(start + RangePlan.block, total)
            let part = UnsafeRawBufferPointer(rebasing: rest[..<min(rest.count, Int(blockEnd - position))])
            rest = UnsafeRawBufferPointer(rebasing: rest[part.count...])
            // The start of this block is not among the bytes.
            let isCut = Int64(count) != position - start
            position += Int64(part.count)
            if isCut { continue }
            if count == 0, position == blockEnd {
                try write(part, start)
                continue
            }
            let memory = memory ?? BlockMemory.take(Int(RangePlan.block))
            self.memory = memory
            UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: part)
            count += part.count
            guard position == blockEnd else { continue }
            let block = UnsafeRawBufferPointer(rebasing: memory[..<count])
            count = 0
            try write(block, start)
        }
    }
}
