import Testing

@testable import ImageCache

struct ReadAheadPlanTests {
    private static let block = ReadAheadPlan.first

    @Test func `windows of sequential reads double, end with a block, and stop growing`() {
        var plan = ReadAheadPlan()
        var position: Int64 = 10
        var blocks: [Int64] = []
        for _ in 0..<8 {
            let window = plan.window(at: position)
            #expect(window.lowerBound == position && window.upperBound % Self.block == 0)
            blocks.append((Int64(window.count) + Self.block - 1) / Self.block)
            position = window.upperBound
        }
        #expect(blocks == [1, 2, 4, 8, 16, 32, 32, 32])
    }

    struct Reads: CustomTestStringConvertible {
        var testDescription: String
        var ranges: [Range<Int64>]
        var areSequential: [Bool]
    }

    @Test(arguments: [
        Reads(testDescription: "in a row", ranges: [0..<10, 10..<20, 20..<21], areSequential: [false, true, true]),
        Reads(testDescription: "with a gap", ranges: [0..<10, 11..<20, 20..<30], areSequential: [false, false, true]),
        Reads(testDescription: "backwards", ranges: [50..<60, 0..<50, 60..<70], areSequential: [false, false, false]),
    ])
    func `a read is sequential where the last one ended`(reads: Reads) {
        var plan = ReadAheadPlan()
        var areSequential: [Bool] = []
        for range in reads.ranges { areSequential.append(plan.note(range, isLoaded: false)) }
        #expect(areSequential == reads.areSequential)
    }

    @Test func `a read of loaded bytes counts as sequential, and any other read starts small again`() {
        var plan = ReadAheadPlan()
        for _ in 0..<3 { _ = plan.window(at: 0) }
        let isLoaded = plan.note(500..<600, isLoaded: true)
        let fourth = plan.window(at: 0)
        #expect(isLoaded && fourth.count == 8 * Int(Self.block))
        let isSequential = plan.note(0..<1, isLoaded: false)
        let first = plan.window(at: 0)
        #expect(!isSequential && first.count == Int(Self.block))
    }

    @Test func `the next window is loaded from the middle of the present one on`() {
        var plan = ReadAheadPlan()
        let window = plan.window(at: 0)
        #expect(!plan.loadsNext(at: 0, before: window.upperBound))
        #expect(plan.loadsNext(at: window.upperBound / 2, before: window.upperBound))
    }

    @Test func `a window at the largest offset ends there`() {
        var plan = ReadAheadPlan()
        let window = plan.window(at: .max - 5)
        #expect(window == .max - 5 ..< .max)
    }
}
