import TestSupport
import Testing

@testable import DiskStore

@Suite("Positions of a new array") struct PositionPlanTests {
    /// The positions of a whole array, given in windows as staging gives them.
    private func positions(of array: [Int64?], former: Int64?, window: Int = 20, batch: Int = 10) -> [Int64] {
        var plan = PositionPlan(former: former)
        var rest = array[...]
        var positions: [Int64] = []
        while !rest.isEmpty {
            let part = Array(rest.prefix(window))
            let count = part.count < window ? part.count : batch
            positions += plan.assign(part, count: count)
            rest = rest.dropFirst(count)
        }
        return positions
    }

    private func expectAscending(_ positions: [Int64], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 }, sourceLocation: sourceLocation)
    }

    private let old: [Int64] = (0..<100).map { $0 * PositionPlan.spacing }

    @Test func `an equal array keeps all positions`() {
        #expect(positions(of: old, former: 0) == old)
    }

    @Test func `new ids at the front change no other position`() {
        for count in [1, 7, 25, 200] {
            let array = [Int64?](repeating: nil, count: count) + old
            let given = positions(of: array, former: 0)
            expectAscending(given)
            #expect(Array(given.suffix(100)) == old)
        }
    }

    @Test func `an id that is moved to the front changes its own position alone`() {
        var array = old
        array.insert(array.remove(at: 90), at: 0)
        let given = positions(of: array, former: 0)
        expectAscending(given)
        #expect(zip(array, given).count { $0 != $1 } == 1)
    }

    @Test func `new ids in the middle take the room between their neighbours`() {
        let array = old.prefix(50).map(Optional.some) + [nil, nil, nil] + old.suffix(50)
        let given = positions(of: array, former: 0)
        expectAscending(given)
        #expect(Array(given.suffix(50)) == Array(old.suffix(50)))
    }

    @Test func `neighbours without room get new positions`() {
        let given = positions(of: [1, nil, nil, 2, 3, 10], former: 1)
        expectAscending(given)
        #expect(given.first == 1 && given.last == 10)
    }

    @Test(arguments: [nil, 1, 5_000_000] as [Int?])
    func `new ids of an array of changes are in front, also where numbers end`(count: Int?) {
        for former in [nil, 0, 1 << 40, PositionPlan.lowest, .min + 7, .min] as [Int64?] {
            let front = PositionPlan.front(of: former, count: count)
            #expect(front > .min && (front < former ?? 0 || former ?? 0 < .min + 8))
        }
        // Small changes leave room for any number of syncs.
        #expect(PositionPlan.front(of: 0, count: 3) == -3 * PositionPlan.frontSpacing)
    }

    @Test func `any change of any array gives ascending positions`() {
        var generator = SeededGenerator(for: "PositionPlan")
        var array: [Int64] = []
        for _ in 0..<300 {
            var next = array.map(Optional.some)
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                let place = Int.random(in: 0...next.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0 where !next.isEmpty: next.remove(at: place % next.count)
                case 1 where !next.isEmpty:
                    let moved = next.remove(at: place % next.count)
                    next.insert(moved, at: Int.random(in: 0...next.count, using: &generator))
                case 2: next.insert(contentsOf: [Int64?](repeating: nil, count: 15), at: place)
                default: next.insert(nil, at: place)
                }
            }
            if Int.random(in: 0..<20, using: &generator) == 0 { next.shuffle(using: &generator) }
            if next.count > 400 { next.removeLast(next.count - 400) }
            array = positions(of: next, former: array.min())
            expectAscending(array)
        }
    }
}

@Suite("Sort keys") struct ListSortKeyTests {
    @Test func `sort keys order numbers first, then texts, then missing keys`() {
        let keys: [ListSortKey] = [
            .number(-.infinity), .number(-2.5), .number(-1), .number(0), .number(0.25), .number(1e300), .text(""),
            .text("a"),
            .text("ab"), .text("b"), .none,
        ]
        for (one, other) in zip(keys, keys.dropFirst()) {
            #expect(one.bytes.lexicographicallyPrecedes(other.bytes), "\(one) \(other)")
        }
        #expect(ListSortKey.number(-0.0) == .number(0))
        #expect(ListSortKey.number(.nan) == ListSortKey.none)
    }
}
