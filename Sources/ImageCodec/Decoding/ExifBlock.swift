/// The orientation in an Exif block's first directory. All offsets are checked.
struct ExifBlock {
    private(set) var bytes: [UInt8]
    /// The position of the orientation's value: its first byte, and its length (2 or 4 bytes).
    private let place: (offset: Int, length: Int)?
    private let isLittleEndian: Bool

    /// - Parameter bytes: The bytes from the TIFF header on.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        isLittleEndian = bytes.starts(with: [0x49, 0x49])
        place = Self.findOrientation(bytes, isLittleEndian: isLittleEndian)
    }

    /// The orientation; `up` if it is missing or invalid.
    var orientation: ImageOrientation {
        guard let place else { return .up }
        return ImageOrientation(rawValue: Self.number(bytes, place.offset, place.length, isLittleEndian) ?? 1) ?? .up
    }

    /// The block for an image that is stored upright.
    var reset: [UInt8] {
        guard let place else { return bytes }
        var copy = bytes
        for index in 0..<place.length { copy[place.offset + index] = 0 }
        copy[place.offset + (isLittleEndian ? 0 : place.length - 1)] = 1
        return copy
    }

    private static func number(_ bytes: [UInt8], _ offset: Int, _ length: Int, _ isLittleEndian: Bool) -> Int? {
        guard offset >= 0, offset <= bytes.count - length else { return nil }
        let part = bytes[offset..<offset + length]
        return isLittleEndian ? part.reversed().reduce(0) { $0 << 8 | Int($1) } : part.reduce(0) { $0 << 8 | Int($1) }
    }

    private static func findOrientation(_ bytes: [UInt8], isLittleEndian: Bool) -> (offset: Int, length: Int)? {
        guard isLittleEndian || bytes.starts(with: [0x4D, 0x4D]),
            number(bytes, 2, 2, isLittleEndian) == 42,
            let directory = number(bytes, 4, 4, isLittleEndian),
            let count = number(bytes, directory, 2, isLittleEndian)
        else { return nil }
        for index in 0..<count {
            let entry = directory + 2 + index * 12
            guard let tag = number(bytes, entry, 2, isLittleEndian), entry + 12 <= bytes.count else { return nil }
            guard tag == 0x0112 else { continue }
            // One SHORT; some cameras write a LONG.
            switch (number(bytes, entry + 2, 2, isLittleEndian), number(bytes, entry + 4, 4, isLittleEndian)) {
            case (3, 1): return (entry + 8, 2)
            case (4, 1): return (entry + 8, 4)
            default: return nil
            }
        }
        return nil
    }
}
