/// Encodes values as bytes, or decodes them. One function of a type does both, so that they agree.
///
/// The input may come from a process that a hostile file controls. Therefore everything that the types do not allow is rejected.
package struct WireCoder {
    /// The bytes come from another version, or are forged.
    package struct Malformed: Error {
        package init() {}
    }

    package private(set) var bytes: [UInt8]
    private var position = 0
    /// False while values are written.
    package let isReading: Bool

    /// Writes.
    package init() {
        bytes = []
        isReading = false
    }

    /// Reads.
    package init(reading bytes: [UInt8]) {
        self.bytes = bytes
        isReading = true
    }

    /// - Throws: `Malformed` if bytes remain.
    package func end() throws(Malformed) {
        guard position == bytes.count else { throw Malformed() }
    }

    package mutating func code(_ value: inout UInt64) throws(Malformed) {
        if isReading {
            guard bytes.count - position >= 8 else { throw Malformed() }
            value = bytes.withUnsafeBytes {
                UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            }
            position += 8
        } else {
            withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
        }
    }

    package mutating func code<Number: FixedWidthInteger>(_ value: inout Number) throws(Malformed) {
        var number = UInt64(bitPattern: Int64(truncatingIfNeeded: value))
        try code(&number)
        guard isReading else { return }
        guard let read = Number(exactly: Int64(bitPattern: number)) else { throw Malformed() }
        value = read
    }

    package mutating func code(_ value: inout Double) throws(Malformed) {
        var pattern = value.bitPattern
        try code(&pattern)
        value = Double(bitPattern: pattern)
    }

    /// The time that some work took: finite, not negative, and less than a month.
    package mutating func code(seconds: inout Double) throws(Malformed) {
        // A difference of two times may be rounded below zero.
        var value = isReading ? 0 : max(0, seconds)
        try code(&value)
        guard (0...2_592_000).contains(value) else { throw Malformed() }
        seconds = value
    }

    package mutating func code(_ value: inout Bool) throws(Malformed) {
        if isReading {
            guard position < bytes.count, bytes[position] <= 1 else { throw Malformed() }
            value = bytes[position] == 1
            position += 1
        } else {
            bytes.append(value ? 1 : 0)
        }
    }

    package mutating func code(_ value: inout [UInt8]) throws(Malformed) {
        var count = value.count
        try code(&count)
        guard isReading else { return bytes += value }
        guard count >= 0, count <= bytes.count - position else { throw Malformed() }
        value = Array(bytes[position..<position + count])
        position += count
    }

    package mutating func code(_ value: inout String) throws(Malformed) {
        var text = isReading ? [] : Array(value.utf8)
        try code(&text)
        if isReading { value = String(decoding: text, as: UTF8.self) }
    }

    package mutating func code(_ value: inout some WireCodable) throws(Malformed) { try value.code(by: &self) }

    /// A value that may be missing.
    ///
    /// - Parameter start: Any value, which reading replaces.
    package mutating func code<Value: WireCodable>(
        _ value: inout Value?, from start: @autoclosure () -> Value
    ) throws(Malformed) {
        try code(&value, from: start()) { (value, coder) throws(Malformed) in try value.code(by: &coder) }
    }

    package mutating func code(_ value: inout Int?) throws(Malformed) {
        try code(&value, from: 0) { (value, coder) throws(Malformed) in try coder.code(&value) }
    }

    package mutating func code(_ value: inout [UInt8]?) throws(Malformed) {
        try code(&value, from: []) { (value, coder) throws(Malformed) in try coder.code(&value) }
    }

    private mutating func code<Value>(
        _ value: inout Value?, from start: @autoclosure () -> Value,
        _ each: (inout Value, inout WireCoder) throws(Malformed) -> Void
    ) throws(Malformed) {
        var isThere = value != nil
        try code(&isThere)
        guard isThere else { return value = nil }
        var present = value ?? start()
        try each(&present, &self)
        value = present
    }

    /// A list of at most the given number of values.
    package mutating func code<Value: WireCodable>(
        _ values: inout [Value], most: Int, from start: @autoclosure () -> Value
    ) throws(Malformed) {
        var count = values.count
        try code(&count)
        guard (0...most).contains(count) else { throw Malformed() }
        if isReading { values = (0..<count).map { _ in start() } }
        for index in values.indices { try values[index].code(by: &self) }
    }

    /// The number of a case of an enumeration.
    package mutating func code(case number: Int) throws(Malformed) -> Int {
        var number = number
        try code(&number)
        return number
    }

    package mutating func code<Value: RawRepresentable>(
        raw value: inout Value
    ) throws(Malformed) where Value.RawValue == String {
        var raw = value.rawValue
        try code(&raw)
        guard let read = Value(rawValue: raw) else { throw Malformed() }
        value = read
    }
}

/// A value that is encoded as bytes, and decoded in place of another value of its type.
package protocol WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed)
}
