import HTTPSemantics
package import HTTPTypes

/// The byte format of entry metadata and partial headers in the store: length-prefixed values, little-endian, no padding.
///
/// The reader checks all bounds, because bytes from disk may be damaged.
package struct FieldWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ value: UInt8) { bytes.append(value) }

    package mutating func write(_ value: Int64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func write(_ value: Double) { write(Int64(bitPattern: value.bitPattern)) }

    package mutating func write(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            write(length: utf8.count)
            bytes.append(contentsOf: utf8)
        }
    }

    package mutating func write(_ value: String?) {
        write(UInt8(value == nil ? 0 : 1))
        if let value { write(value) }
    }

    package mutating func write(_ fields: HTTPFields) {
        write(length: fields.count)
        for field in fields {
            write(field.name.rawName)
            // As bytes, because a value need not be valid UTF-8.
            field.withUnsafeBytesOfValue { value in
                write(length: value.count)
                bytes.append(contentsOf: value)
            }
        }
    }

    /// Lengths are written as LEB128: one byte for nearly every header field.
    package mutating func write(length: Int) {
        var rest = UInt(length)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// Reads the format of ``FieldWriter``; every method returns `nil` for invalid bytes.
package struct FieldReader {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }
    /// True if only zeros follow, or nothing.
    var isAtPadding: Bool { bytes[position...].allSatisfy { $0 == 0 } }
    /// The unread bytes.
    package var rest: [UInt8] { Array(bytes[position...]) }

    package mutating func readByte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    package mutating func readInt64() -> Int64? {
        guard bytes.count - position >= 8 else { return nil }
        defer { position += 8 }
        return bytes.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: Int64.self)) }
    }

    package mutating func readDouble() -> Double? { readInt64().map { Double(bitPattern: UInt64(bitPattern: $0)) } }

    package mutating func readString() -> String? {
        guard let bytes = readBytes() else { return nil }
        // Nearly every text is ASCII, which need not be validated.
        let isASCII = bytes.allSatisfy { $0 < 0x80 }
        return isASCII ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
    }

    package mutating func readBytes() -> ArraySlice<UInt8>? {
        guard let count = readLength(), bytes.count - position >= count else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// Reads an optional text: `.some(nil)` if it is absent, `nil` if the bytes are invalid.
    package mutating func readOptionalString() -> String?? {
        switch readByte() {
        case 0: .some(nil)
        case 1: readString().map { .some($0) }
        default: nil
        }
    }

    package mutating func readFields() -> HTTPFields? {
        guard let count = readLength(), count <= bytes.count - position else { return nil }
        var fields = HTTPFields()
        for _ in 0..<count {
            guard let name = readBytes()?.withUnsafeBytes({ HTTPField.Name(spelling: $0) }), let value = readBytes()
            else { return nil }
            fields.append(HTTPField(name: name, lenientValue: value))
        }
        return fields
    }

    package mutating func readLength() -> Int? {
        var value: UInt = 0
        var shift: UInt = 0
        while let byte = readByte(), shift < 63 {
            value |= UInt(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return Int(exactly: value) }
            shift += 7
        }
        return nil
    }
}
