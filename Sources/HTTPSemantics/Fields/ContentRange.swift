public import HTTPTypes

/// The value of `Content-Range` (RFC 9110 section 14.4), in bytes.
public enum ContentRange: Sendable, Hashable {
    /// `bytes 5-9/10`, or `bytes 5-9/*` without a total: the bytes in a 206 and the length of the whole representation.
    case range(Range<Int64>, total: Int64?)
    /// `bytes */10`, the length of the whole representation in a 416.
    case unsatisfied(total: Int64)

    /// Parses a value; `nil` for another unit and for anything the grammar does not allow: signs, further spaces, an
    /// end before the start or beyond the total, numbers beyond 63 bits, several values.
    public init?(_ text: String) {
        var text = text
        guard let value = text.withUTF8({ ContentRange($0) }) else { return nil }
        self = value
    }

    /// The one `Content-Range` among the fields; `nil` when there is none, several, or an invalid one.
    public init?(_ fields: HTTPFields) {
        var lines = fields.lazy.filter { $0.name.isNamed("content-range") }.makeIterator()
        guard let line = lines.next(), lines.next() == nil else { return nil }
        guard let value = line.withUnsafeBytesOfValue({ ContentRange($0) }) else { return nil }
        self = value
    }

    /// The bytes in the message.
    public var range: Range<Int64>? {
        if case .range(let range, _) = self { range } else { nil }
    }

    /// The length of the whole representation; `nil` if unknown.
    public var total: Int64? {
        switch self {
        case .range(_, let total): total
        case .unsatisfied(let total): total
        }
    }

    /// The value in field syntax.
    public var text: String {
        switch self {
        case .range(let range, let total):
            "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total.map(String.init) ?? "*")"
        case .unsatisfied(let total): "bytes */\(total)"
        }
    }

    private init?(_ bytes: Bytes) {
        let text = bytes[...].trimmed
        guard text.count > 6, text.prefix(5).isName("bytes"), text[text.startIndex + 5] == 0x20 else { return nil }
        let rest = text.dropFirst(6)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let (part, end) = (rest[..<slash], rest[(slash + 1)...])
        let total = Int64(digits: end)
        guard total != nil || Self.isStar(end) else { return nil }
        if let total, Self.isStar(part) {
            self = .unsatisfied(total: total)
            return
        }
        guard let dash = part.firstIndex(of: UInt8(ascii: "-")), let first = Int64(digits: part[..<dash]),
            let last = Int64(digits: part[(dash + 1)...]), first <= last, last < total ?? .max
        else { return nil }
        self = .range(first..<(last + 1), total: total)
    }

    private static func isStar(_ bytes: ByteSlice) -> Bool { bytes.count == 1 && bytes.first == UInt8(ascii: "*") }
}
