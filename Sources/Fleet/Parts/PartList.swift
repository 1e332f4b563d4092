import ImageCache

/// The list of a shared body's parts. It is complete if it has each part's SHA-256; otherwise the parts are still being uploaded.
struct PartList: Hashable, Sendable {
    let identity: PartIdentity
    /// The body's length in bytes.
    let total: Int64
    /// The length in bytes of each part but the last.
    let partSize: Int64
    /// The SHA-256 of each part's bytes; `nil` until all parts are uploaded.
    let digests: [[UInt8]]?

    /// The number of parts of a body that are read at once. Each is in memory until it is verified and written.
    static let readsAtOnce = 4
    private static let digestSize = 32
    private static let maxCount: Int64 = 1 << 20
    private static let sizes: ClosedRange<Int64> = (256 << 10)...(64 << 20)

    init(_ identity: PartIdentity, total: Int64, partSize: Int64, digests: [[UInt8]]? = nil) {
        self.identity = identity
        self.total = total
        self.partSize = partSize
        self.digests = digests
    }

    var count: Int { Int((total + partSize - 1) / partSize) }

    /// The range of a part's bytes in the body.
    func range(of index: Int) -> Range<Int64> {
        let start = Int64(index) * partSize
        return start..<min(total, start + partSize)
    }

    /// The indexes of the parts that a range of the body overlaps.
    func parts(touching range: Range<Int64>) -> Range<Int> {
        let range = range.clamped(to: 0..<total)
        if range.isEmpty { return 0..<0 }
        return Int(range.lowerBound / partSize)..<Int((range.upperBound - 1) / partSize) + 1
    }

    // MARK: Coding

    var encoded: [UInt8] {
        var writer = FieldWriter()
        for byte in identity.bytes { writer.write(byte) }
        writer.write(total)
        writer.write(partSize)
        writer.write(UInt8(digests == nil ? 0 : 1))
        return writer.bytes + (digests ?? []).joined()
    }

    /// `nil` if the bytes are not a valid list.
    init?(decoding bytes: [UInt8]) {
        let size = PartIdentity.byteCount
        guard let identity = PartIdentity(bytes.prefix(size)) else { return nil }
        var reader = FieldReader(Array(bytes.dropFirst(size)))
        guard let total = reader.readInt64(), let partSize = reader.readInt64(), let isComplete = reader.readByte(),
            Self.sizes.contains(partSize), partSize % Self.sizes.lowerBound == 0, total > 0,
            total / partSize < Self.maxCount, isComplete <= 1
        else { return nil }
        self.init(
            identity, total: total, partSize: partSize,
            digests: isComplete == 1 ? reader.rest.split(every: Self.digestSize) : nil)
        guard reader.rest.count == (digests == nil ? 0 : count * Self.digestSize) else { return nil }
    }
}

extension [UInt8] {
    fileprivate func split(every size: Int) -> [[UInt8]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
