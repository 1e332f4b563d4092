import HTTPSemantics

/// Writes a JSON object as bytes (RFC 8259), for logs, errors and traces: no tree, no Foundation.
///
/// Invisible characters are escaped: text from outside cannot change how a terminal shows the rest.
package struct JSONLine {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    package init(reserving capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func add(_ name: StaticString, _ value: String) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        if value.utf8.allSatisfy({ $0 < 0x80 }) {
            for byte in value.utf8 { escape(byte) }
        } else {
            for scalar in value.unicodeScalars { escape(scalar) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func add(_ name: StaticString, _ value: some BinaryInteger) {
        begin(name)
        bytes += String(value).utf8
    }

    /// Adds a number of milliseconds with three decimals.
    package mutating func add(_ name: StaticString, milliseconds duration: Duration) {
        begin(name)
        let (seconds, attoseconds) = duration.components
        let microseconds = max(0, seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
        bytes += String(microseconds / 1000).utf8
        bytes.append(UInt8(ascii: "."))
        let rest = String(microseconds % 1000).utf8
        for _ in rest.count..<3 { bytes.append(UInt8(ascii: "0")) }
        bytes += rest
    }

    package mutating func add(_ name: StaticString, _ value: Bool) {
        begin(name)
        bytes += (value ? "true" : "false").utf8
    }

    /// Adds an object.
    package mutating func add(_ name: StaticString, _ object: consuming JSONLine) {
        begin(name)
        bytes += object.finished()
    }

    /// Adds an array of objects.
    package mutating func add(_ name: StaticString, _ objects: some Sequence<JSONLine>) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for object in objects {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            bytes += object.finished()
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Returns the object with its closing brace.
    package consuming func finished() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private mutating func begin(_ name: StaticString) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes += $0 }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func escape(_ scalar: Unicode.Scalar) {
        guard scalar.value >= 0x80 else { return escape(UInt8(scalar.value)) }
        guard scalar.isHidden else {
            bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            return
        }
        for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
            let digits = String(unit, radix: 16)
            bytes += "\\u".utf8
            bytes += String(repeating: "0", count: 4 - digits.utf8.count).utf8
            bytes += digits.utf8
        }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0..<0x20, 0x7F:
            bytes += "\\u00".utf8
            bytes += (byte < 16 ? "0" : "").utf8
            bytes += String(byte, radix: 16).utf8
        default: bytes.append(byte)
        }
    }
}
