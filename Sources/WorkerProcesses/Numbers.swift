/// A sequence of 8-byte integers.
struct Numbers {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> Int64? {
        guard rest.count >= 8 else { return nil }
        defer { rest = rest.dropFirst(8) }
        return Int64(bitPattern: rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// The bytes after the numbers that were read, as text.
    var text: String { String(decoding: rest, as: UTF8.self) }

    static func bytes(of numbers: Int64...) -> [UInt8] {
        numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
    }
}
