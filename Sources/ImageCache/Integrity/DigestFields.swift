import Digests
import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import RawStructuredFieldValues

/// Digests in the fields of a response (RFC 9530).
enum DigestFields {
    /// The algorithms that are not deprecated (RFC 9530 section 5), the one that is preferred first.
    private static let algorithms = [DigestAlgorithm.sha256, .sha512]

    /// The value of `Want-Repr-Digest`.
    static let wanted = "sha-256=10, sha-512=5"

    /// The digest that the head of a response gives of the whole representation: `Repr-Digest`, or `Content-Digest` where the
    /// response's content is all of it. `nil` for none that is well-formed and known.
    static func digest(in fields: HTTPFields, of status: HTTPResponse.Status) -> Digest? {
        digest(fields[values: .reprDigest])
            ?? (status == .partialContent ? nil : digest(fields[values: .contentDigest]))
    }

    private static func digest(_ lines: [String]) -> Digest? {
        guard !lines.isEmpty else { return nil }
        var parser = StructuredFieldValueParser(Array(lines.joined(separator: ",").utf8))
        guard let dictionary = try? parser.parseDictionaryFieldValue() else { return nil }
        var found: [DigestAlgorithm: Digest] = [:]
        for (key, member) in dictionary {
            guard let algorithm = algorithms.first(where: { $0.rawValue == key }), case .item(let item) = member,
                case .undecodedByteSequence(let text) = item.rfc9651BareItem, let bytes = Data(base64Encoded: text)
            else { continue }
            found[algorithm] = Digest(algorithm, Array(bytes))
        }
        return algorithms.lazy.compactMap { found[$0] }.first
    }
}

extension HTTPField.Name {
    static let reprDigest = known("Repr-Digest")
    static let contentDigest = known("Content-Digest")
    static let wantReprDigest = known("Want-Repr-Digest")
}
