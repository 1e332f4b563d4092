public import HTTPTypes

/// The value of `Content-Range` (RFC 9110 section 14.4), in bytes.
public struct ContentRange: Sendable, Hashable {
    /// The bytes that the message has; `nil` in a 416, which has none.
    public var range: Range<Int64>?
    /// The length of the whole; `nil` when it is not known.
    public var total: Int64?

    public init(range: Range<Int64>?, total: Int64?) {
        self.range = range
        self.total = total
    }

    /// The one `Content-Range` among the fields; `nil` when there is none, several, or one that contradicts itself.
    public init?(_ fields: HTTPFields) {
        var lines = fields.lazy.filter { $0.name.isCalled("content-range") }.makeIterator()
        guard let line = lines.next(), lines.next() == nil else { return nil }
        guard let value = line.withUnsafeBytesOfValue({ ContentRange($0) }) else { return nil }
        self = value
    }

    /// As a field writes it.
    public var text: String {
        let total = total.map(String.init) ?? "*"
        guard let range else { return "bytes */\(total)" }
        return "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
    }

    init?(_ bytes: Bytes) {
        let text = bytes[...].trimmed
        guard text.count > 6, text.prefix(5).isName("bytes"), text[text.startIndex + 5] == 0x20 else { return nil }
        let rest = text.dropFirst(6)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let end = rest[rest.index(after: slash)...]
        if end.elementsEqual([UInt8(ascii: "*")]) {
            total = nil
        } else {
            guard let number = ByteRange.number(end) else { return nil }
            total = number
        }
        let part = rest[..<slash]
        if part.elementsEqual([UInt8(ascii: "*")]) {
            guard total != nil else { return nil }
            return
        }
        guard let dash = part.firstIndex(of: UInt8(ascii: "-")), let first = ByteRange.number(part[..<dash]),
            let last = ByteRange.number(part[part.index(after: dash)...]), first <= last, last < Int64.max,
            total.map({ last < $0 }) ?? true
        else { return nil }
        range = first..<(last + 1)
    }
}

/// One range of a `Range` field (RFC 9110 section 14.1.2).
@usableFromInline package enum ByteRange: Sendable, Hashable {
    /// From the first byte on; to the last one, if that is given.
    case from(Int64, through: Int64?)
    /// The last so many bytes.
    case suffix(Int64)

    /// What a request asks for: `nil` when there is no `Range`, several lines or ranges, another unit, or one that is
    /// invalid. In all of these a recipient may ignore the field and send the whole (RFC 9110 section 14.2).
    package init?(_ fields: HTTPFields) {
        var lines = fields.lazy.filter { $0.name.isCalled("range") }.makeIterator()
        guard let line = lines.next(), lines.next() == nil else { return nil }
        guard let value = line.withUnsafeBytesOfValue({ ByteRange($0) }) else { return nil }
        self = value
    }

    init?(_ bytes: Bytes) {
        let text = bytes[...].trimmed
        guard text.count > 6, text.prefix(6).isName("bytes=") else { return nil }
        let set = text.dropFirst(6).trimmed
        guard let dash = set.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let before = set[..<dash]
        let after = set[set.index(after: dash)...]
        if before.isEmpty {
            guard let length = ByteRange.number(after) else { return nil }
            self = .suffix(length)
        } else {
            guard let first = ByteRange.number(before) else { return nil }
            if after.isEmpty {
                self = .from(first, through: nil)
            } else {
                guard let last = ByteRange.number(after), last >= first else { return nil }
                self = .from(first, through: last)
            }
        }
    }

    /// One or more digits, saturating: a number too great to be held is beyond every end.
    @inlinable package static func number(_ bytes: some Collection<UInt8>) -> Int64? {
        guard !bytes.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in bytes {
            guard byte.isDigit else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowToo) = product.addingReportingOverflow(Int64(byte - 48))
            value = overflow || overflowToo ? Int64.max : sum
        }
        return value
    }

    /// The bytes that it means of a representation of that length; `nil` when there are none (RFC 9110 section 15.5.17).
    package func resolved(length: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last):
            guard first < length else { return nil }
            return first..<(min(last ?? length - 1, length - 1) + 1)
        case .suffix(let count):
            guard count > 0, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }
}
