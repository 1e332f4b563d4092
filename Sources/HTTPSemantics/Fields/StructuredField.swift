package import HTTPTypes

/// Structured fields (RFC 9651).
package enum StructuredField {
    /// The most bytes of a field that is read. The parser's dictionaries take a time that is quadratic in the number of their members, so a
    /// head of many members would occupy a processor for minutes.
    package static let mostBytes = 8 << 10

    /// The lines of a field, joined before they are parsed (RFC 9651 section 4.2); `nil` if there is none with content, or more than is read.
    package static func joined(_ canonicalName: String, in fields: HTTPFields) -> [UInt8]? {
        var value: [UInt8] = []
        for field in fields where field.name.isNamed(canonicalName) {
            if !value.isEmpty { value.append(UInt8(ascii: ",")) }
            field.withUnsafeBytesOfValue { value.append(contentsOf: $0) }
            if value.count > mostBytes { return nil }
        }
        return value.isEmpty ? nil : value
    }
}
