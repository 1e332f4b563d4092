/// Finds the blocks of a file, which a control file describes, in other files: the seeds.
///
/// A window moves over each seed, byte by byte. If its rolling checksum matches a block, the MD4 decides; with ``ZsyncControl/run`` 2, the
/// following block must match, too. After a match the window moves by a block. Equal blocks are searched once, and the number of different
/// blocks with one checksum is limited. The bytes whose MD4 matches no block are also limited: neither a seed of zeros nor a forged control
/// file makes the time grow with the square of the length.
package struct ZsyncSearch {
    /// The place of a block in a seed.
    package struct Place: Sendable, Equatable {
        package let seed: Int
        package let offset: Int64
    }

    /// The largest number of entries with one hash.
    private static let longestChain = 32
    private static let none: Int32 = -1

    private let control: ZsyncControl
    /// The class of each block. Blocks with equal checksums are one class.
    private var classes: [Int32] = []
    private var rolling: [UInt32] = []
    private var strong: [SIMD4<UInt32>] = []
    /// True for a class that has only the last block, which may be shorter.
    private var lastClass: Int32 = none
    /// The remaining bytes of the seed whose MD4 may be computed in vain.
    private var allowance: Int64 = 0
    /// The place of each class; a negative seed if it was not found.
    private var seeds: [Int32] = []
    private var offsets: [Int64] = []

    /// The classes that follow each other somewhere, in chains by hash. Without a following block the second is ``none``.
    private var firsts: [Int32] = []
    private var seconds: [Int32] = []
    private var next: [Int32] = []
    private var heads: [Int32]
    private let hashBits: UInt32
    /// A bit for each hash, of which a hash of the table is the beginning.
    private var filter: [UInt64]
    private static let filterBits: UInt32 = 4

    private let mask: UInt32
    private let strongMask: SIMD4<UInt32>
    /// True if a block and its successor must match.
    private let isPaired: Bool

    package init(_ control: ZsyncControl) {
        self.control = control
        let count = control.blockCount
        mask = control.rollingMask
        strongMask = control.strongMask
        isPaired = control.run == 2 && count > 1
        var bits: UInt32 = 8
        while bits < 26, 1 << Int(bits) < count { bits += 1 }
        hashBits = bits
        heads = [Int32](repeating: Self.none, count: 1 << Int(bits))
        filter = [UInt64](repeating: 0, count: (1 << Int(bits + Self.filterBits)) / 64)
        classify(count)
        seeds = [Int32](repeating: Self.none, count: rolling.count)
        offsets = [Int64](repeating: 0, count: rolling.count)
        for index in 0..<count where !isPaired || index + 1 < count {
            insert(classes[index], isPaired ? classes[index + 1] : Self.none)
        }
    }

    /// Gives equal blocks one class.
    private mutating func classify(_ count: Int) {
        var table = [Int32](repeating: Self.none, count: 1 << Int(hashBits + 1))
        classes.reserveCapacity(count)
        for index in 0..<count {
            let (sum, digest) = (control.rolling(index), control.strongWords(index))
            // Seeded per process, so that an attacker cannot choose colliding checksums.
            var hasher = Hasher()
            hasher.combine(sum)
            hasher.combine(digest)
            var slot = Int(truncatingIfNeeded: UInt(bitPattern: hasher.finalize()) & UInt(table.count - 1))
            while table[slot] != Self.none, rolling[Int(table[slot])] != sum || strong[Int(table[slot])] != digest {
                slot = (slot + 1) & (table.count - 1)
            }
            if table[slot] == Self.none {
                table[slot] = Int32(rolling.count)
                rolling.append(sum)
                strong.append(digest)
                if index == count - 1 { lastClass = table[slot] }
            }
            classes.append(table[slot])
        }
    }

    private mutating func insert(_ first: Int32, _ second: Int32) {
        let hash = Self.hash(rolling[Int(first)], second == Self.none ? 0 : rolling[Int(second)])
        let head = Int(hash >> (32 - hashBits))
        var (entry, length) = (heads[head], 0)
        while entry != Self.none {
            if firsts[Int(entry)] == first, seconds[Int(entry)] == second { return }
            (entry, length) = (next[Int(entry)], length + 1)
        }
        if length >= Self.longestChain { return }
        next.append(heads[head])
        heads[head] = Int32(firsts.count)
        firsts.append(first)
        seconds.append(second)
        let bit = Int(hash >> (32 - hashBits - Self.filterBits))
        filter[bit / 64] |= 1 << UInt64(bit % 64)
    }

    @inline(__always)
    private static func hash(_ first: UInt32, _ second: UInt32) -> UInt32 {
        let mixed = first &* 0x9E37_79B1 ^ second &* 0x85EB_CA77
        return (mixed ^ mixed &>> 15) &* 0x2C1B_3C6D
    }

    // MARK: Searching

    /// The bytes of a seed that are searched at a time, unless blocks are longer.
    private static let stride = 1 << 20

    /// Searches one seed.
    ///
    /// - Parameters:
    ///   - size: The length of the seed in bytes.
    ///   - read: Reads bytes at an offset until the buffer is full, and returns their number.
    /// - Returns: False if the calling task was cancelled.
    package mutating func search(
        _ seed: Int, size: Int64, read: (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int
    ) -> Bool {
        let block = control.blockSize
        let span = isPaired ? 2 * block : block
        let capacity = Self.stride + 2 * span + block
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 64)
        defer { memory.deallocate() }
        var window = Window(seed: seed, size: size)
        allowance = 4 * size + 1 << 22
        while true {
            if Task.isCancelled { return false }
            if allowance < 0 { break }
            // Keeps the bytes from the window on.
            let kept = window.end - window.position
            if window.position > 0, kept > 0 {
                memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[window.position..<window.end]))
            }
            window.base += Int64(window.position)
            (window.position, window.end) = (0, kept)
            if !window.isLast {
                let wanted = capacity - block - kept
                let count = read(
                    window.base + Int64(kept), UnsafeMutableRawBufferPointer(rebasing: memory[kept..<kept + wanted]))
                window.end += count
                if count < wanted {
                    // The last block of the file is filled up with zeros.
                    UnsafeMutableRawBufferPointer(rebasing: memory[window.end..<window.end + block])
                        .initializeMemory(as: UInt8.self, repeating: 0)
                    window.end += block
                    window.isLast = true
                }
            }
            guard window.end - window.position >= span else { break }
            search(UnsafeRawBufferPointer(memory), &window, span)
            if window.isLast { break }
        }
        findLast(in: seed, size: size, read)
        return true
    }

    /// The part of a seed that is in memory, and the window on it.
    private struct Window {
        let seed: Int
        let size: Int64
        /// The offset of the memory in the seed.
        var base: Int64 = 0
        var position = 0
        var end = 0
        /// True if the seed's end is in memory.
        var isLast = false
    }

    private mutating func search(_ memory: UnsafeRawBufferPointer, _ window: inout Window, _ span: Int) {
        let block = control.blockSize
        let shift = UInt32(block.trailingZeroBitCount)
        func bytes(_ start: Int) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: memory[start..<start + block])
        }
        var position = window.position
        var first = RollingChecksum(bytes(position))
        var second = isPaired ? RollingChecksum(bytes(position + block)) : RollingChecksum(.init(start: nil, count: 0))
        /// The digest of the first block of the window, if it is known.
        var known: SIMD4<UInt32>?
        let (mask, isPaired, shiftToBit) = (mask, isPaired, 32 - hashBits - Self.filterBits)
        while true {
            let hash = Self.hash(first.value & mask, isPaired ? second.value & mask : 0)
            let bit = Int(hash &>> shiftToBit)
            let isCandidate = filter.withUnsafeBufferPointer { $0[bit / 64] &>> UInt64(bit % 64) & 1 != 0 }
            if isCandidate {
                let (isFound, following) = match(
                    hash, first.value & mask, isPaired ? second.value & mask : 0, bytes(position),
                    isPaired ? bytes(position + block) : nil, known, at: window.base + Int64(position), window)
                if isFound {
                    position += block
                    known = following
                    guard position + span <= window.end else { break }
                    if isPaired {
                        first = second
                        second = RollingChecksum(bytes(position + block))
                    } else {
                        first = RollingChecksum(bytes(position))
                    }
                    continue
                }
            }
            guard position + span < window.end, allowance >= 0 else { break }
            known = nil
            let middle = memory[position &+ block]
            first.move(removing: memory[position], adding: middle, shift: shift)
            if isPaired { second.move(removing: middle, adding: memory[position &+ span], shift: shift) }
            position &+= 1
        }
        window.position = min(position, window.end)
    }

    /// Compares the blocks at a place of a seed with those that have the same rolling checksums, and notes their place.
    ///
    /// - Returns: True after a match, with the digest of the second block.
    private mutating func match(
        _ hash: UInt32, _ firstSum: UInt32, _ secondSum: UInt32, _ first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer?, _ known: SIMD4<UInt32>?, at offset: Int64, _ window: Window
    ) -> (Bool, SIMD4<UInt32>?) {
        var entry = heads[Int(hash >> (32 - hashBits))]
        var digest = known
        var following: SIMD4<UInt32>?
        var isFound = false
        while entry != Self.none {
            let (one, other) = (firsts[Int(entry)], seconds[Int(entry)])
            entry = next[Int(entry)]
            guard rolling[Int(one)] == firstSum, other == Self.none || rolling[Int(other)] == secondSum else {
                continue
            }
            let own = digest ?? MD4.digest(first) & strongMask
            if digest == nil { allowance -= Int64(first.count) }
            digest = own
            guard strong[Int(one)] == own else { continue }
            if let second, other != Self.none {
                let next = following ?? MD4.digest(second) & strongMask
                following = next
                guard strong[Int(other)] == next else { continue }
                note(other, in: window.seed, at: offset + Int64(control.blockSize), size: window.size)
            }
            note(one, in: window.seed, at: offset, size: window.size)
            if !isFound { allowance += Int64(first.count) }
            isFound = true
        }
        return (isFound, following)
    }

    private mutating func note(_ found: Int32, in seed: Int, at offset: Int64, size: Int64) {
        let length =
            found == lastClass ? Int64(control.range(ofBlock: control.blockCount - 1).count) : Int64(control.blockSize)
        guard seeds[Int(found)] == Self.none, offset + length <= size else { return }
        seeds[Int(found)] = Int32(seed)
        offsets[Int(found)] = offset
    }

    /// Looks for the last block behind the one before it, because nothing follows that could match with it.
    private mutating func findLast(
        in seed: Int, size: Int64, _ read: (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int
    ) {
        let count = control.blockCount
        guard isPaired, lastClass != Self.none, seeds[Int(lastClass)] == Self.none,
            seeds[Int(classes[count - 2])] == Int32(seed)
        else { return }
        let offset = offsets[Int(classes[count - 2])] + Int64(control.blockSize)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: control.blockSize, alignment: 64)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        let length = control.range(ofBlock: count - 1).count
        guard read(offset, UnsafeMutableRawBufferPointer(rebasing: memory[..<length])) == length,
            MD4.digest(UnsafeRawBufferPointer(memory)) & strongMask == strong[Int(lastClass)]
        else { return }
        note(lastClass, in: seed, at: offset, size: size)
    }

    // MARK: Results

    /// The place of a block; `nil` if it was not found.
    package func place(ofBlock index: Int) -> Place? {
        let found = Int(classes[index])
        return seeds[found] == Self.none ? nil : Place(seed: Int(seeds[found]), offset: offsets[found])
    }

    /// The ranges of the file whose blocks were not found, in order.
    package var missing: [Range<Int64>] {
        var missing = RangeSet<Int64>()
        for index in 0..<control.blockCount where place(ofBlock: index) == nil {
            missing.insert(contentsOf: control.range(ofBlock: index))
        }
        return Array(missing.ranges)
    }
}
