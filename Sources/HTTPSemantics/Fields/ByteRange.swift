package import HTTPTypes

/// One range of a `Range` field (RFC 9110 section 14.1.2), in bytes.
package enum ByteRange: Sendable, Hashable {
    /// From the first byte on; up to the last one, if given.
    case from(Int64, through: Int64?)
    /// The last bytes, by number.
    case suffix(Int64)

    /// The range that a request asks for; `nil` if there is no `Range`, several lines or ranges, another unit, or an
    /// invalid one. In all of these cases a recipient may ignore the field and send the whole representation (RFC 9110
    /// section 14.2).
    package init?(_ fields: HTTPFields) {
        guard
            let range = Self.line(in: fields)?.withUnsafeBytesOfValue({ bytes in
                Self.set(bytes).flatMap { ByteRange(part: $0) }
            })
        else { return nil }
        self = range
    }

    /// The range that ends where `range` does; at the end of the representation if that is `Int64.max`.
    package init(_ range: Range<Int64>) {
        self = .from(range.lowerBound, through: range.upperBound == .max ? nil : range.upperBound - 1)
    }

    /// The ranges of a field with several ones, in their order; `nil` if there is no such field, or an invalid one.
    package static func several(_ fields: HTTPFields) -> [ByteRange]? {
        line(in: fields)?.withUnsafeBytesOfValue { bytes in
            guard let set = set(bytes) else { return nil }
            let parts = set.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            let ranges = parts.compactMap { ByteRange(part: $0.trimmed) }
            return ranges.count == parts.count && ranges.count > 1 ? ranges : nil
        }
    }

    /// The one line of `Range`; `nil` if there is none, or several.
    private static func line(in fields: HTTPFields) -> HTTPField? {
        var lines = fields.lazy.filter { $0.name.isNamed("range") }.makeIterator()
        guard let line = lines.next(), lines.next() == nil else { return nil }
        return line
    }

    /// The value of a `Range` field after its unit.
    private static func set(_ bytes: Bytes) -> Slice<Bytes>? {
        let text = bytes[...].trimmed
        guard text.count > 6, text.prefix(6).isName("bytes=") else { return nil }
        return text.dropFirst(6).trimmed
    }

    /// Clamps numbers beyond 63 bits.
    private init?(part set: Slice<Bytes>) {
        guard let dash = set.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let (before, after) = (set[..<dash], set[(dash + 1)...])
        if before.isEmpty {
            guard let length = Int64(saturatingDigits: after) else { return nil }
            self = .suffix(length)
        } else {
            guard let first = Int64(saturatingDigits: before) else { return nil }
            if after.isEmpty {
                self = .from(first, through: nil)
            } else {
                guard let last = Int64(saturatingDigits: after), last >= first else { return nil }
                self = .from(first, through: last)
            }
        }
    }

    /// The range as it follows `bytes=` in a `Range` field: `5-9`, `5-`, `-5`.
    package var text: String {
        switch self {
        case .from(let first, let last): "\(first)-\(last.map(String.init) ?? "")"
        case .suffix(let count): "-\(count)"
        }
    }

    /// The bytes selected from a representation of the given length; `nil` if there are none (RFC 9110 section
    /// 15.5.17).
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
