/// Splits bytes that arrive in pieces into lines: in time that grows with the bytes alone, and with the memory of one line.
package struct LineSplitter: Sendable {
    /// The longest line in bytes. Only the beginning of a longer line is kept, which has one byte more.
    package static let longest = 64 << 10

    private var line: [UInt8] = []

    package init() {}

    /// The bytes held of a line that has not ended.
    package var held: Int { line.count }

    /// Takes further bytes.
    ///
    /// - Parameter give: Gets each line that ends in them, without its end.
    package mutating func add(_ bytes: some Collection<UInt8>, _ give: ([UInt8]) -> Void) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            keep(rest[..<end])
            give(line)
            line.removeAll(keepingCapacity: true)
            rest = rest[rest.index(after: end)...]
        }
        keep(rest)
    }

    /// The last line, if it has no end.
    package mutating func finish() -> [UInt8]? {
        defer { line = [] }
        return line.isEmpty ? nil : line
    }

    private mutating func keep(_ bytes: some Collection<UInt8>) { line += bytes.prefix(Self.longest + 1 - line.count) }
}
