/// A hash index of slots: open addressing with linear probing, eight bytes a bucket, at most three quarters full.
///
/// It contains neither keys nor values: the caller compares the candidate's key. An entry's key is thus in memory once,
/// and one kind of table serves for keys and for originals.
@usableFromInline
struct HashIndex: Sendable {
    /// The hash in the upper half, the slot's number plus one in the lower; 0 if empty.
    @usableFromInline var buckets: [UInt64] = []
    @usableFromInline var count = 0

    @inlinable
    init() {}

    @inlinable
    var mask: Int { buckets.count - 1 }

    /// The slot with this hash for which `matches` returns true.
    @inlinable
    func slot(hash: UInt32, where matches: (Int32) -> Bool) -> Int32? {
        guard !buckets.isEmpty else { return nil }
        var position = Int(hash) & mask
        while true {
            let bucket = buckets[position]
            if bucket == 0 { return nil }
            if UInt32(truncatingIfNeeded: bucket >> 32) == hash {
                let slot = Self.slot(of: bucket)
                if matches(slot) { return slot }
            }
            position = (position + 1) & mask
        }
    }

    /// Adds a slot that is not in the index.
    @inlinable
    mutating func insert(_ slot: Int32, hash: UInt32) {
        if (count + 1) * 4 > buckets.count * 3 { grow() }
        place(Self.bucket(slot, hash))
        count += 1
    }

    /// Replaces `old` by `slot`, which has the same hash.
    @inlinable
    mutating func replace(_ old: Int32, by slot: Int32, hash: UInt32) {
        guard let position = position(of: old, hash: hash) else { return }
        buckets[position] = Self.bucket(slot, hash)
    }

    @inlinable
    mutating func remove(_ slot: Int32, hash: UInt32) {
        guard var hole = position(of: slot, hash: hash) else { return }
        count -= 1
        // Following buckets move up instead of leaving tombstones: an entry may move into the hole unless its own
        // position lies after the hole.
        var position = hole
        while true {
            position = (position + 1) & mask
            let bucket = buckets[position]
            if bucket == 0 { break }
            let home = Int(bucket >> 32) & mask
            if (position &- home) & mask >= (position &- hole) & mask {
                buckets[hole] = bucket
                hole = position
            }
        }
        buckets[hole] = 0
    }

    @inlinable
    func position(of slot: Int32, hash: UInt32) -> Int? {
        guard !buckets.isEmpty else { return nil }
        let wanted = Self.bucket(slot, hash)
        var position = Int(hash) & mask
        while buckets[position] != 0 {
            if buckets[position] == wanted { return position }
            position = (position + 1) & mask
        }
        return nil
    }

    @inlinable
    mutating func grow() {
        let old = buckets
        buckets = [UInt64](repeating: 0, count: max(8, old.count * 2))
        for bucket in old where bucket != 0 { place(bucket) }
    }

    @inlinable
    mutating func place(_ bucket: UInt64) {
        var position = Int(bucket >> 32) & mask
        while buckets[position] != 0 { position = (position + 1) & mask }
        buckets[position] = bucket
    }

    @inlinable
    static func bucket(_ slot: Int32, _ hash: UInt32) -> UInt64 {
        UInt64(hash) << 32 | UInt64(UInt32(bitPattern: slot) + 1)
    }

    @inlinable
    static func slot(of bucket: UInt64) -> Int32 {
        Int32(truncatingIfNeeded: (bucket & 0xFFFF_FFFF) - 1)
    }
}
