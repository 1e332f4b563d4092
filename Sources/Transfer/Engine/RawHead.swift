import Glibc
import HTTPSemantics
import HTTPTypes

/// Parses the bytes of a response head in place, because this runs for every transfer.
enum RawHead {
    static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        guard line.count >= 5, let start = line.baseAddress, line[0] == UInt8(ascii: "H") else { return false }
        return memcmp(start, "HTTP/", 5) == 0
    }

    /// The protocol version and the fields. Invalid fields are omitted.
    static func parse(_ head: UnsafeRawBufferPointer) -> (version: String, fields: HTTPFields) {
        var version = ""
        var fields = HTTPFields()
        var lines = Lines(rest: head)
        if let first = lines.next() {
            version = String(decoding: first.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        }
        while let line = lines.next() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0, !isBlank(line[0]),
                let name = HTTPField.Name(spelling: UnsafeRawBufferPointer(rebasing: line[..<colon]))
            else { continue }
            let value = trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
            if let next = lines.peek, isBlank(next) {
                fields.append(HTTPField(name: name, value: unfolded(value, &lines)))
            } else {
                fields.append(HTTPField(name: name, value: value))
            }
        }
        return (version, fields)
    }

    /// A value that is continued in the next lines (obsolete line folding, RFC 9112 section 5.2), joined with spaces.
    private static func unfolded(_ first: UnsafeRawBufferPointer, _ lines: inout Lines) -> [UInt8] {
        var value = Array(first)
        while let next = lines.peek, isBlank(next), let line = lines.next() {
            value.append(UInt8(ascii: " "))
            value.append(contentsOf: trimmed(line))
        }
        return value
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        var end = bytes.count
        while start < end, isBlank(bytes[start]) { start += 1 }
        while end > start, isBlank(bytes[end - 1]) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    /// Lines without their ends, `CR LF` or `LF`. The empty last line is not returned.
    private struct Lines {
        var rest: UnsafeRawBufferPointer

        /// The first byte of the next line.
        var peek: UInt8? { rest.first }

        mutating func next() -> UnsafeRawBufferPointer? {
            guard let start = rest.baseAddress, !rest.isEmpty else { return nil }
            let lineFeed = memchr(start, 0x0A, rest.count)
            var count = lineFeed.map { start.distance(to: $0) } ?? rest.count
            rest = UnsafeRawBufferPointer(rebasing: rest[min(count + 1, rest.count)...])
            while count > 0, start.load(fromByteOffset: count - 1, as: UInt8.self) == 0x0D { count -= 1 }
            return UnsafeRawBufferPointer(start: start, count: count)
        }
    }
}
