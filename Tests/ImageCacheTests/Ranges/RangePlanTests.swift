import HTTPSemantics
import Testing

@testable import ImageCache

/// The rules by which a range is fetched.
@Suite struct RangePlanTests {
    private static let block = RangePlan.block
    private static let window = RangePlan.window

    static let first: [(ByteRange, ByteRange?)] = [
        (.from(0, through: 0), .from(0, through: block - 1)),
        (.from(10, through: 19), .from(0, through: block - 1)),
        (.from(block - 1, through: block), .from(0, through: 2 * block - 1)),
        (.from(block, through: 2 * block - 1), .from(block, through: 2 * block - 1)),
        (.from(block + 1, through: nil), .from(block, through: block + window - 1)),
        (.from(0, through: nil), nil),
        (.from(0, through: .max), .from(0, through: window - 1)),
        (.from(.max - 1, through: .max), nil),
        (.suffix(1), .suffix(block)),
        (.suffix(65_536), .suffix(65_536 + block - 1)),
        (.suffix(.max), .suffix(window + block - 1)),
        (.suffix(0), nil),
    ]

    @Test(arguments: first)
    func `the first request is for the whole blocks of the range, and at most a window of them`(
        _ range: ByteRange, _ expected: ByteRange?
    ) {
        #expect(RangePlan.first(for: range) == expected)
    }

    @Test(
        arguments: [
            (0..<1000, 1000, 0..<1000), (0..<block, 2 * block, 0..<block),
            (5..<2 * block, 2 * block, block..<2 * block),
            (5..<2 * block + 7, 3 * block, block..<2 * block), (5..<block, 2 * block, 5..<5),
            (5..<block + 9, block + 9, block..<block + 9),
        ] as [(Range<Int64>, Int64, Range<Int64>)])
    func `a response yields the complete blocks that it contains`(
        _ range: Range<Int64>, _ total: Int64, _ blocks: Range<Int64>
    ) {
        #expect(RangePlan.wholeBlocks(in: range, of: total) == blocks)
    }

    @Test func `windows follow each other without a gap, and end with the range`() {
        for range in [0..<1, 100..<(3 * Self.window), (Self.block - 1)..<(Self.window + 2), 5..<Self.window] {
            var position = Int64(range.lowerBound)
            while position < range.upperBound {
                let window = RangePlan.window(at: position, of: range)
                #expect(window.lowerBound == position && window.count > 0 && window.count <= Self.window)
                #expect(window.upperBound == range.upperBound || window.upperBound % Self.block == 0)
                position = window.upperBound
            }
            #expect(position == range.upperBound)
        }
    }

    struct Reading: Sendable {
        let total: Int64
        let position: Int64
        /// The contiguous bytes before the position.
        let before: Int64
        let completes: Bool
    }

    static let readings: [Reading] = [
        // A small body, whatever was read of it.
        Reading(total: 4 * mebibyte, position: 10, before: 0, completes: true),
        Reading(total: 4 * mebibyte + 1, position: 10, before: 10, completes: false),
        // A sequential reader, and little is left.
        Reading(total: 100 * mebibyte, position: 50 * mebibyte, before: 4 * mebibyte, completes: true),
        Reading(total: 100 * mebibyte, position: 50 * mebibyte, before: 4 * mebibyte - 1, completes: false),
        // A sequential reader, and too much is left.
        Reading(total: 1024 * mebibyte, position: 50 * mebibyte, before: 4 * mebibyte, completes: false),
        Reading(total: 1024 * mebibyte, position: 1000 * mebibyte, before: 4 * mebibyte, completes: true),
    ]
    private static let mebibyte: Int64 = 1 << 20

    @Test(arguments: readings)
    func `the rest follows for small bodies, and for sequential readers near the end`(_ reading: Reading) {
        let completes = RangePlan.completes(reading.total, after: reading.position, with: reading.before)
        #expect(completes == reading.completes)
    }

    @Test func `ranges with a short gap between them become one`() {
        let set = RangeSet<Int64>([0..<10, 14..<20, 25..<30, 90..<91])
        #expect(Array(set.closingGaps(upTo: 4).ranges) == [0..<20, 25..<30, 90..<91])
        #expect(Array(set.closingGaps(upTo: 5).ranges) == [0..<30, 90..<91])
        #expect(set.closingGaps(upTo: 3) == set)
        #expect(RangeSet<Int64>().closingGaps(upTo: 9).isEmpty)
    }
}
