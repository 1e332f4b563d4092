import HTTPTypes

/// The parts of a request that AWS Signature Version 4 covers.
struct SigV4Request: Sendable {
    var method: HTTPRequest.Method
    /// The unencoded path, with its leading slash.
    var path: String
    var query: [(name: String, value: String)] = []
    /// The fields to sign, including `Host` and `X-Amz-Date`.
    var fields: HTTPFields
    /// SHA-256 of the content in hexadecimal digits, or `UNSIGNED-PAYLOAD`.
    var payloadHash: String

    /// The names of the signed fields, in lower case, sorted.
    var signedFields: String { canonicalFields.map(\.name).joined(separator: ";") }

    /// The canonical text, whose digest is signed.
    var canonicalText: String {
        let lines = canonicalFields.map { "\($0.name):\($0.value)\n" }.joined()
        return [
            method.rawValue, AWSEncoding.path(path), AWSEncoding.query(query), lines, signedFields, payloadHash,
        ].joined(separator: "\n")
    }

    /// The fields by name. The values of equal names are joined in order.
    private var canonicalFields: [(name: String, value: String)] {
        var values: [String: [String]] = [:]
        for field in fields { values[field.name.canonicalName, default: []].append(Self.trimmed(field.value)) }
        return values.sorted { $0.key < $1.key }.map { ($0.key, $0.value.joined(separator: ",")) }
    }

    /// Trims the spaces at both ends, and collapses each run of spaces inside.
    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }
}
