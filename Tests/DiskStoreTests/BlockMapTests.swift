import TestSupport
import Testing

@testable import DiskStore

private let block = BlockMap.blockSize

@Suite struct BlockMapTests {
    @Test func `missing ranges are the gaps, and the last block ends at the total`() {
        var map = BlockMap()
        #expect(map.missing(total: 10) == [0..<10])
        #expect(map.missing(total: 0).isEmpty)
        #expect(map.missing(total: nil) == [0..<Int64.max])
        map[1] = true
        #expect(map.missing(total: 3 * block + 1) == [0..<block, 2 * block..<3 * block + 1])
        map[0] = true
        #expect(map.prefix == 2)
        #expect(map.missing(total: nil) == [2 * block..<Int64.max])
        map[3] = true
        #expect(map.missing(total: 3 * block + 1) == [2 * block..<3 * block])
        #expect(map.heldBytes(total: 3 * block + 1) == 2 * block + 1)
        map[0] = false
        #expect(map.prefix == 0)
    }

    @Test func `a tail is cut out of the range it lies in`() {
        var map = BlockMap()
        map[0] = true
        #expect(map.missing(total: 3 * block, tails: [block..<block + 7]) == [block + 7..<3 * block])
        #expect(
            map.missing(total: 4 * block, tails: [2 * block..<2 * block + 7]) == [
                block..<2 * block, 2 * block + 7..<4 * block,
            ])
        #expect(map.missing(total: block + 7, tails: [block..<block + 7]).isEmpty)
        #expect(map.missing(total: nil, tails: [block..<block + 7]) == [block + 7..<Int64.max])
    }

    @Test func `held ranges are the complement of the missing ranges, joined and with the tails`() {
        var map = BlockMap()
        #expect(map.held(total: nil).isEmpty)
        #expect(map.held(total: 10, tails: [0..<7]) == [0..<7])
        for index: Int64 in [0, 1, 4] { map[index] = true }
        #expect(map.held(total: nil) == [0..<2 * block, 4 * block..<5 * block])
        #expect(map.held(total: 4 * block + 1) == [0..<2 * block, 4 * block..<4 * block + 1])
        #expect(
            map.held(total: nil, tails: [2 * block..<2 * block + 7]) == [0..<2 * block + 7, 4 * block..<5 * block])
        #expect(map.held(total: nil, tails: [5 * block..<5 * block + 7]).last == 4 * block..<5 * block + 7)
        // A tail recorded before its block was full is ignored.
        #expect(map.held(total: nil, tails: [4 * block..<4 * block + 7]) == map.held(total: nil))
    }

    @Test func `a block map agrees with a set of blocks after random changes`() {
        var generator = SeededGenerator(for: "block map")
        for _ in 0..<200 {
            let count = Int64.random(in: 1...200, using: &generator)
            var map = BlockMap()
            var set: Set<Int64> = []
            for _ in 0..<Int.random(in: 0...300, using: &generator) {
                let one = Int64.random(in: 0..<count, using: &generator)
                let isHeld = Bool.random(using: &generator)
                map[one] = isHeld
                if isHeld { set.insert(one) } else { set.remove(one) }
            }
            #expect((0..<count).filter { map[$0] } == set.sorted())
            #expect(map.prefix == (0...count).first { !set.contains($0) })
            #expect(map.end == (set.max() ?? -1) + 1)
            let missing = map.missing(total: count * block).flatMap { $0.lowerBound / block..<$0.upperBound / block }
            #expect(missing == (0..<count).filter { !set.contains($0) })
            #expect(map.heldBytes(total: count * block) == Int64(set.count) * block)
        }
    }
}
