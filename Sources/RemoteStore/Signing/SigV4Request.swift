import HTTPTypes

/// A request as AWS Signature Version 4 sees it.
struct SigV4Request: Sendable {
    var method: HTTPRequest.Method
    /// The path from its first slash, not encoded.
    var path: String
    var query: [(name: String, value: String)] = []
    /// The fields to sign, `Host` and `X-Amz-Date` among them.
    var fields: HTTPFields
    /// SHA-256 of the content in hexadecimal digits, or `UNSIGNED-PAYLOAD`.
    var payloadHash: String

    /// The names of the signed fields, in lower case, sorted.
    var signedFields: String { canonicalFields.map(\.name).joined(separator: ";") }

    /// The text whose digest is signed.
    var canonicalText: String {
        let lines = canonicalFields.map { "\($0.name):\($0.value)\n" }.joined()
        return [
            method.rawValue, AWSEncoding.path(path), AWSEncoding.query(query), lines, signedFields, payloadHash,
        ].joined(separator: "\n")
    }

    /// Fields by name; the values of equal names joined in their order.
    private var canonicalFields: [(name: String, value: String)] {
        var values: [String: [String]] = [:]
        for field in fields { values[field.name.canonicalName, default: []].append(Self.trimmed(field.value)) }
        return values.sorted { $0.key < $1.key }.map { ($0.key, $0.value.joined(separator: ",")) }
    }

    /// Without spaces at the ends; each run of spaces inside becomes one.
    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }
}
