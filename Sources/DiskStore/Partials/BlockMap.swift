/// The set of 256 KiB blocks of a body that are present. One bit a block: 512 KiB for a tebibyte.
struct BlockMap: Equatable, Sendable {
    /// The unit in which bytes are hashed, recorded and, after a kill, fetched again.
    static let blockSize: Int64 = 256 << 10

    private var words: [UInt64] = []
    /// The number of contiguous blocks from the start.
    private(set) var prefix: Int64 = 0
    /// The index behind the last block that is present.
    private(set) var end: Int64 = 0

    static func index(of offset: Int64) -> Int64 { offset / blockSize }
    static func start(of block: Int64) -> Int64 { block * blockSize }

    /// The byte range of a block: the last one of a known total may be short.
    static func range(of block: Int64, total: Int64?) -> Range<Int64> {
        let start = start(of: block)
        return start..<max(start, min(start + blockSize, total ?? Int64.max))
    }

    static func count(for total: Int64) -> Int64 { total / blockSize + (total % blockSize == 0 ? 0 : 1) }

    subscript(block: Int64) -> Bool {
        get {
            let word = Int(block >> 6)
            return word < words.count && words[word] & (1 << UInt64(block & 63)) != 0
        }
        set {
            let word = Int(block >> 6)
            if word >= words.count {
                if !newValue { return }
                words.append(contentsOf: repeatElement(0, count: word + 1 - words.count))
            }
            if newValue {
                words[word] |= 1 << UInt64(block & 63)
                end = max(end, block + 1)
                while self[prefix] { prefix += 1 }
            } else {
                words[word] &= ~(1 << UInt64(block & 63))
                prefix = min(prefix, block)
                while end > 0 && !self[end - 1] { end -= 1 }
            }
        }
    }

    var isEmpty: Bool { end == 0 }

    /// The runs of missing blocks in a range of blocks, in order. Takes time for the blocks up to ``end``, and none for those behind it.
    func missingRuns(in blocks: Range<Int64>) -> [Range<Int64>] {
        var runs: [Range<Int64>] = []
        var next = blocks.lowerBound
        while next < blocks.upperBound {
            let start = nextMissing(from: next)
            guard start < blocks.upperBound else { break }
            next = min(nextPresent(from: start) ?? blocks.upperBound, blocks.upperBound)
            runs.append(start..<next)
        }
        return runs
    }

    /// The first block that is missing, from one on.
    private func nextMissing(from block: Int64) -> Int64 {
        first(from: block, in: { ~$0 }) ?? max(block, Int64(words.count) * 64)
    }

    /// The first block that is present, from one on.
    private func nextPresent(from block: Int64) -> Int64? { first(from: block, in: { $0 }) }

    /// The first set bit of the changed words, from one on.
    private func first(from block: Int64, in change: (UInt64) -> UInt64) -> Int64? {
        var index = Int(block >> 6)
        guard index < words.count else { return nil }
        var word = change(words[index]) & (UInt64.max << UInt64(block & 63))
        while word == 0 {
            index += 1
            guard index < words.count else { return nil }
            word = change(words[index])
        }
        return Int64(index) * 64 + Int64(word.trailingZeroBitCount)
    }

    /// The byte ranges that are present: in order, disjoint, not empty.
    ///
    /// - Parameter tails: Bytes at the starts of incomplete blocks, each within one block.
    func held(total: Int64?, tails: [Range<Int64>] = []) -> [Range<Int64>] {
        Array(heldSet(total: total, tails: tails).ranges)
    }

    private func heldSet(total: Int64?, tails: [Range<Int64>]) -> RangeSet<Int64> {
        var held = RangeSet(tails.filter { !self[Self.index(of: $0.lowerBound)] })
        var next: Int64 = 0
        while let first = nextPresent(from: next) {
            next = nextMissing(from: first)
            held.insert(contentsOf: Self.start(of: first)..<Self.start(of: next))
        }
        return held.intersection(RangeSet(0..<(total ?? Int64.max)))
    }

    /// The missing byte ranges, in order; open-ended if the total is unknown.
    func missing(total: Int64?, tails: [Range<Int64>] = []) -> [Range<Int64>] {
        Array(RangeSet(0..<(total ?? Int64.max)).subtracting(heldSet(total: total, tails: tails)).ranges)
    }

    /// The number of bytes in the blocks.
    func heldBytes(total: Int64?) -> Int64 {
        let blocks = words.reduce(Int64(0)) { $0 + Int64($1.nonzeroBitCount) }
        guard let total, total % Self.blockSize != 0, self[total / Self.blockSize] else {
            return blocks * Self.blockSize
        }
        return (blocks - 1) * Self.blockSize + total % Self.blockSize
    }
}
