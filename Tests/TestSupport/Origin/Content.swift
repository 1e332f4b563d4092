import Glibc

/// Bytes that follow from a seed and an offset, so that gigabytes of them need no memory and no file.
///
/// A pattern of prime length repeats, and each 4096th byte begins a stamp that differs in every block: no two blocks
/// are alike, and a byte from another place or another seed is noticed.
public struct Content: Sendable, Hashable {
    public let seed: UInt64
    public let size: Int64

    public init(seed: UInt64, size: Int64) {
        self.seed = seed
        self.size = size
    }

    private static let stampEvery: Int64 = 4096
    private static let patternLength: Int64 = 65_537
    private static let pattern: [UInt8] = {
        var generator = SplitMix64(seed: 0x9E37_79B9)
        return (0..<patternLength).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }()

    /// Fills the whole buffer with the bytes from `offset` on; continues beyond the size by the same rule.
    public func fill(_ buffer: inout [UInt8], from offset: Int64) {
        buffer.withUnsafeMutableBytes { fill($0, from: offset) }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64) {
        guard let base = buffer.baseAddress else { return }
        let end = offset + Int64(buffer.count)
        Self.pattern.withUnsafeBytes { pattern in
            guard let source = pattern.baseAddress else { return }
            var position = offset
            while position < end {
                let start = position % Self.patternLength
                let count = min(Self.patternLength - start, end - position)
                memcpy(base + Int(position - offset), source + Int(start), Int(count))
                position += count
            }
        }
        var block = offset / Self.stampEvery
        while block * Self.stampEvery < end {
            var generator = SplitMix64(seed: seed ^ UInt64(block) &* 0xA076_1D64_78BD_642F)
            withUnsafeBytes(of: generator.next().littleEndian) { stamp in
                for (index, byte) in stamp.enumerated() {
                    let position = block * Self.stampEvery + Int64(index)
                    if position >= offset && position < end {
                        base.storeBytes(of: byte, toByteOffset: Int(position - offset), as: UInt8.self)
                    }
                }
            }
            block += 1
        }
    }

    /// All bytes, or the bytes of a range.
    public func bytes(_ range: Range<Int64>? = nil) -> [UInt8] {
        let range = range ?? 0..<size
        return [UInt8](unsafeUninitializedCapacity: Int(range.count)) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(buffer), from: range.lowerBound)
            initialized = Int(range.count)
        }
    }

    /// SHA-256 in lower-case hexadecimal.
    public var sha256: String { SHA256.hex(of: bytes()) }

    /// Writes all bytes to a new file.
    public func write(to path: String) throws {
        guard let file = fopen(path, "wx") else { throw SystemCallFailure("fopen \(path)") }
        defer { fclose(file) }
        var offset: Int64 = 0
        while offset < size {
            let slice = bytes(offset..<min(offset + 1 << 20, size))
            guard fwrite(slice, 1, slice.count, file) == slice.count else { throw SystemCallFailure("fwrite \(path)") }
            offset += Int64(slice.count)
        }
    }

    /// Returns true if the file contains exactly these bytes.
    public func equalsFile(at path: String) -> Bool {
        guard let file = fopen(path, "re") else { return false }
        defer { fclose(file) }
        var offset: Int64 = 0
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return offset == size }
            guard offset + Int64(count) <= size else { return false }
            let expected = bytes(offset..<(offset + Int64(count)))
            guard memcmp(expected, buffer, count) == 0 else { return false }
            offset += Int64(count)
        }
    }
}
