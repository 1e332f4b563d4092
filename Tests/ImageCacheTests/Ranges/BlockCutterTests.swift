import CacheTestSupport
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// Bytes that are cut into blocks.
@Suite struct BlockCutterTests {
    @Test func `whole blocks are delivered at their offsets, whatever pieces the bytes arrive in`() throws {
        var random = SeededGenerator(for: "pieces of blocks")
        let block = Int(RangePlan.block)
        let total = 3 * block + 1000
        let bytes = ScriptedRepresentation.bytes(total)
        for _ in 0..<30 {
            let first = Int.random(in: 0..<total, using: &random)
            let end = Bool.random(using: &random) ? total : Int.random(in: first...total, using: &random)
            let cutter = BlockCutter(Int64(first)..<Int64(end), of: Int64(total))
            var offsets: [Int] = []
            var position = first
            while position < end {
                let count = min(end - position, Int.random(in: 1...300_000, using: &random))
                try bytes[position..<position + count].withUnsafeBytes { piece in
                    try cutter.append(piece) { written, offset in
                        let expected = bytes[Int(offset)..<Int(offset) + written.count]
                        #expect(Body(Array(written)) == Body(Array(expected)))
                        offsets.append(Int(offset))
                    }
                }
                position += count
            }
            let expected = stride(from: 0, to: total, by: block).filter { start in
                start >= first && min(start + block, total) <= end
            }
            #expect(offsets == expected && cutter.isComplete, "\(first)..<\(end)")
        }
    }
}
