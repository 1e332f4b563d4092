import Digests
import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import RawStructuredFieldValues

/// Digests in the fields of a response (RFC 9530).
enum DigestFields {
    /// The algorithms that are not deprecated (RFC 9530 section 5), in order of preference.
    private static let algorithms = [DigestAlgorithm.sha256, .sha512]

    /// The value of `Want-Repr-Digest`.
    static let wanted = "sha-256=10, sha-512=5"

    /// The digest of the whole representation in the head of a response: `Repr-Digest`, or `Content-Digest` if the response's content is the whole
    /// representation. `nil` if no digest is well-formed and of a known algorithm.
    static func digest(in fields: HTTPFields, of status: HTTPResponse.Status) -> Digest? {
        digest("repr-digest", in: fields)
            ?? (status == .partialContent ? nil : digest("content-digest", in: fields))
    }

    /// Makes a digest the only one of the whole representation in a head.
    static func set(_ digest: Digest, in fields: inout HTTPFields) {
        fields[.contentDigest] = nil
        fields[.reprDigest] = "\(digest.algorithm.rawValue)=:\(Data(digest.bytes).base64EncodedString()):"
    }

    private static func digest(_ name: String, in fields: HTTPFields) -> Digest? {
        guard let value = StructuredField.joined(name, in: fields) else { return nil }
        var parser = StructuredFieldValueParser(value)
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
    static let wantReprDigest = known("Want-Repr-Digest")
}
