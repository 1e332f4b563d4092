import CXXHash

/// An XXH3-128 hash. It detects accidents (torn writes, bit rot, foreign bytes), not forgeries.
struct Checksum: Hashable, Sendable {
    let low: UInt64
    let high: UInt64

    static let byteCount = 16
    /// An empty slot of a partial's record.
    static let none = Checksum(low: 0, high: 0)

    init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    init(of bytes: UnsafeRawBufferPointer) {
        self.init(cxxhash_128bits(bytes.baseAddress, bytes.count))
    }

    /// Reads 16 bytes, little-endian, the low half first; fewer bytes yield ``none``.
    init(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.byteCount else {
            self = .none
            return
        }
        low = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        high = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    fileprivate init(_ hash: XXH128_hash_t) {
        self.init(low: hash.low64, high: hash.high64)
    }

    /// Passes the same 16 bytes on every machine.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let stored = (low.littleEndian, high.littleEndian)
        return withUnsafeBytes(of: stored, body)
    }

    var bytes: [UInt8] { withBytes { Array($0) } }
}

extension File {
    /// The checksum of a range; `nil` if the file ends before.
    ///
    /// - Parameter buffer: Memory for at least the range.
    func checksum(
        of range: Range<Int64>, using buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> Checksum? {
        let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
        guard try read(into: bytes, at: range.lowerBound) == range.count else { return nil }
        return Checksum(of: UnsafeRawBufferPointer(bytes))
    }
}

/// The checksum of a whole body: XXH3-128 over its blocks' checksums in order, then its length (8 bytes, little-endian).
///
/// It is computed from the blocks' checksums, so the order in which blocks arrive is irrelevant.
struct BodyChecksum: ~Copyable {
    private let state: OpaquePointer?

    init() {
        state = XXH3_createState()
        _ = XXH3_128bits_reset(state)
    }

    deinit { XXH3_freeState(state) }

    mutating func add(_ block: Checksum) {
        block.withBytes { add($0) }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        _ = XXH3_128bits_update(state, bytes.baseAddress, bytes.count)
    }

    consuming func finish(length: Int64) -> Checksum {
        withUnsafeBytes(of: length.littleEndian) { add($0) }
        return Checksum(XXH3_128bits_digest(state))
    }
}

/// The checksums of a body's blocks in order, 16 bytes each, as in the slots of a partial's record.
struct BlockChecksums: Equatable, Sendable {
    private(set) var bytes: [UInt8]

    init(bytes: [UInt8] = []) { self.bytes = bytes }

    var count: Int64 { Int64(bytes.count / Checksum.byteCount) }

    /// ``Checksum/none`` for a block that is missing.
    subscript(block: Int64) -> Checksum {
        get { bytes.withUnsafeBytes { Checksum(UnsafeRawBufferPointer(rebasing: $0[Self.range(of: block)])) } }
        set { newValue.withBytes { bytes.replaceSubrange(Self.range(of: block), with: $0) } }
    }

    mutating func append(_ checksum: Checksum) { checksum.withBytes { bytes.append(contentsOf: $0) } }

    /// The checksum of a whole body of this length.
    func whole(length: Int64) -> Checksum {
        var whole = BodyChecksum()
        for block in 0..<count { whole.add(self[block]) }
        return whole.finish(length: length)
    }

    private static func range(of block: Int64) -> Range<Int> {
        let start = Int(block) * Checksum.byteCount
        return start..<start + Checksum.byteCount
    }
}

/// The 64-bit hash used to look up and lock keys.
func keyHash(_ key: EntryKey) -> Int64 {
    var text = key.value
    return text.withUTF8 { Int64(bitPattern: XXH3_64bits($0.baseAddress, $0.count)) }
}
