/// Assigns positions to the ids of a new array. As many ids as possible keep their positions, so that an array of a million ids with ten new ones
/// changes ten rows.
///
/// Positions are numbers with gaps between them. Ids are processed in windows, so that memory does not grow with the array.
struct PositionPlan {
    /// The gap between two positions that are assigned at the end.
    static let spacing: Int64 = 1 << 20
    /// The gap before the first kept position, for four million new ids in front of it. There is room for two million such gaps.
    static let frontRoom: Int64 = 1 << 42
    /// The gap between two positions of new ids that an array of changes puts in front.
    static let frontSpacing: Int64 = 1 << 10
    /// If the first position is below this one, the next whole array gets new positions.
    static let lowest: Int64 = -1 << 61

    /// The position of the previous id; `nil` at the front.
    private(set) var last: Int64?
    /// The first position of the former array; `nil` if it has none.
    private let former: Int64?

    init(former: Int64?) { self.former = former }

    /// The first position for new ids of an array of changes, in front of the former array.
    ///
    /// - Parameter count: The number of new ids; `nil` if it is not known yet.
    static func front(of former: Int64?, count: Int?) -> Int64 {
        let room = min(count.map { Int64($0) * frontSpacing } ?? frontRoom, frontRoom)
        let (position, isTooLow) = (former ?? 0).subtractingReportingOverflow(room)
        // Pages begin behind the lowest number.
        return isTooLow ? .min + 1 : max(position, .min + 1)
    }

    /// The positions of the first `count` ids of a window.
    ///
    /// - Parameter window: The former positions of the ids, in the new order; `nil` for new ids. It is longer than `count` unless the array
    ///   ends with it, because only the following ids show that an id was moved far away.
    mutating func assign(_ window: [Int64?], count: Int) -> [Int64] {
        var kept = Self.ascending(window, above: last)
        var positions: [Int64] = []
        positions.reserveCapacity(count)
        var index = 0
        while index < count {
            if kept[index], let position = window[index] {
                positions.append(position)
                last = position
                index += 1
                continue
            }
            let end = endOfRun(from: index, in: window, &kept)
            let run = place(end - index, before: end < window.count ? window[end] : nil)
            for position in run.prefix(count - index) {
                positions.append(position)
                last = position
            }
            index = end
        }
        return positions
    }

    /// Returns the next id that keeps its position and has enough room before it for the ids in between. Ids before it lose their positions.
    private func endOfRun(from start: Int, in window: [Int64?], _ kept: inout [Bool]) -> Int {
        var end = start
        while end < window.count {
            if kept[end], let position = window[end] {
                let room = last.map { position - $0 - 1 } ?? Int64.max
                if room >= Int64(end - start) { return end }
                kept[end] = false
            }
            end += 1
        }
        return end
    }

    /// Positions for `count` ids between the last one and the next one that keeps its position.
    private func place(_ count: Int, before next: Int64?) -> [Int64] {
        let count = Int64(count)
        guard let next else {
            let first = last.map { $0 + Self.spacing } ?? former.map { $0 - Self.frontRoom } ?? 0
            return (0..<count).map { first + $0 * Self.spacing }
        }
        guard let last else { return (0..<count).map { next - (count - $0) * Self.spacing } }
        let step = (next - last) / (count + 1)
        return (0..<count).map { last + ($0 + 1) * max(1, step) }
    }

    /// The members of a longest strictly ascending subsequence of those above a bound.
    static func ascending(_ values: [Int64?], above bound: Int64?) -> [Bool] {
        var member = [Bool](repeating: false, count: values.count)
        // The index that ends the best subsequence of each length, and the one before each index.
        var ends: [(index: Int, value: Int64)] = []
        var before = [Int](repeating: -1, count: values.count)
        for (index, value) in values.enumerated() {
            guard let value, bound.map({ value > $0 }) ?? true else { continue }
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if ends[middle].value < value { low = middle + 1 } else { high = middle }
            }
            if low > 0 { before[index] = ends[low - 1].index }
            if low == ends.count { ends.append((index, value)) } else { ends[low] = (index, value) }
        }
        var index = ends.last?.index ?? -1
        while index >= 0 {
            member[index] = true
            index = before[index]
        }
        return member
    }
}
