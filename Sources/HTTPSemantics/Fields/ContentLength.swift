package import HTTPTypes

/// `Content-Length` (RFC 9110 section 8.6).
package enum ContentLength: Sendable, Hashable {
    case absent
    case bytes(Int64)
    /// Differing values, or a value that is not a number of at most 63 bits.
    case invalid

    /// Combines all `Content-Length` fields; equal values, also within one line, count as one.
    package init(_ fields: HTTPFields) {
        var length = ContentLength.absent
        for field in fields where field.name.isNamed("content-length") {
            field.withUnsafeBytesOfValue { line in
                for member in line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                    length.merge(Int64(digits: member.trimmed))
                }
            }
        }
        self = length
    }

    private mutating func merge(_ value: Int64?) {
        guard let value, value < .max, self == .absent || self == .bytes(value) else {
            self = .invalid
            return
        }
        self = .bytes(value)
    }

    /// The length; `nil` when it is absent or invalid.
    package static func value(of fields: HTTPFields) -> Int64? {
        if case .bytes(let length) = ContentLength(fields) { length } else { nil }
    }
}
