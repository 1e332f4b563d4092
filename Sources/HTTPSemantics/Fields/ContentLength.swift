package import HTTPTypes

/// `Content-Length` (RFC 9110 section 8.6).
package enum ContentLength {
    /// The value of `Content-Length`; `nil` when it is absent, invalid, or given with different values.
    package static func value(of fields: HTTPFields) -> Int64? {
        var value: Int64?
        for field in fields where field.name.isCalled("content-length") {
            guard let length = field.withUnsafeBytesOfValue({ ByteRange.number($0[...].trimmed) }), length < Int64.max,
                value == nil || value == length
            else { return nil }
            value = length
        }
        return value
    }
}
