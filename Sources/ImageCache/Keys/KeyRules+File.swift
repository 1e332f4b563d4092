import Digests
import FoundationEssentials
import Glibc
public import HTTPCaching
import JSONParsing

/// The file of key rules in a cache directory.
///
///     {"keys": {
///         "ignore": [{"parameters": ["token", "utm_*"], "hosts": ["cdn.example.com"]}],
///         "unordered": ["*.example.com"],
///         "signed": ["bucket.example.com"],
///         "recognizeSignatures": true
///     }}
extension KeyRules {
    /// `imgcache.json`
    public static let fileName = "imgcache.json"

    /// The size limit of the file in bytes.
    private static let sizeLimit = 1 << 20

    /// Reads the rules from `imgcache.json` in a cache directory. Without such a file, the rules are the default ones.
    ///
    /// ``DownloadCache`` does not read the file itself: pass the rules in ``DownloadCache/Configuration/rules``. All processes that use a
    /// directory must have the same rules; otherwise they look up the same URL under different keys.
    ///
    /// - Throws: ``ImageCacheError`` with code `invalidRequest`, the file's path and the name of the invalid member.
    public init(directory: String) throws(ImageCacheError) {
        self.init()
        let path = "\(directory)/\(Self.fileName)"
        guard access(path, F_OK) == 0 else { return }
        let file: RulesFile
        do {
            let bytes = try LimitedFile.bytes(of: path, limit: Self.sizeLimit, isRegular: true)
            let text = try CommentedJSON(bytes)
            if let repeated = text.repeatedName { throw repeated }
            file = try JSONDecoder().decode(RulesFile.self, from: Data(text.json))
        } catch {
            throw ImageCacheError(.invalidRequest, path: path, message: "\(path): \(Self.problem(error))", cause: error)
        }
        guard let keys = file.keys else { return }
        ignored = (keys.ignore ?? []).map { rule in
            .init(ignoring: Set(rule.parameters), hosts: (rule.hosts ?? []).map { HostPattern($0) })
        }
        unorderedHosts = (keys.unordered ?? []).map { HostPattern($0) }
        signedHosts = (keys.signed ?? []).map { HostPattern($0) }
        recognizesSignatures = keys.recognizeSignatures ?? true
    }

    private static func problem(_ error: any Error) -> String {
        switch error {
        case let error as RulesFile.Problem: error.text
        case let error as LimitedFile.Failure: error.description
        case let error as CommentedJSON.SyntaxError: error.description
        case DecodingError.dataCorrupted(let context):
            context.codingPath.isEmpty ? "is not JSON" : "\(context.codingPath.words) \(context.debugDescription)"
        case DecodingError.keyNotFound(let key, let context): "\((context.codingPath + [key]).words) is missing"
        case DecodingError.typeMismatch(let type, let context), DecodingError.valueNotFound(let type, let context):
            "\(context.codingPath.words) must be of type \(type)"
        default: "cannot be read: \(error)"
        }
    }
}

extension [any CodingKey] {
    fileprivate var words: String { map(\.stringValue).joined(separator: ".") }
}

/// The contents of the file. An unknown member is rejected, as it is probably a misspelt name.
private struct RulesFile: Decodable {
    struct Problem: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    struct Keys: Decodable {
        var ignore: [Rule]?
        var unordered: [String]?
        var signed: [String]?
        var recognizeSignatures: Bool?

        enum CodingKeys: String, CodingKey, CaseIterable { case ignore, unordered, signed, recognizeSignatures }

        init(from decoder: any Decoder) throws {
            try decoder.refuseUnknownMembers(Set(CodingKeys.allCases.map(\.rawValue)))
            let members = try decoder.container(keyedBy: CodingKeys.self)
            ignore = try members.decodeIfPresent([Rule].self, forKey: .ignore)
            unordered = try members.decodeIfPresent([String].self, forKey: .unordered)
            signed = try members.decodeIfPresent([String].self, forKey: .signed)
            recognizeSignatures = try members.decodeIfPresent(Bool.self, forKey: .recognizeSignatures)
        }
    }

    struct Rule: Decodable {
        var parameters: [String]
        var hosts: [String]?

        enum CodingKeys: String, CodingKey, CaseIterable { case parameters, hosts }

        init(from decoder: any Decoder) throws {
            try decoder.refuseUnknownMembers(Set(CodingKeys.allCases.map(\.rawValue)))
            let members = try decoder.container(keyedBy: CodingKeys.self)
            parameters = try members.decode([String].self, forKey: .parameters)
            hosts = try members.decodeIfPresent([String].self, forKey: .hosts)
        }
    }

    var keys: Keys?

    enum CodingKeys: String, CodingKey, CaseIterable { case keys }

    init(from decoder: any Decoder) throws {
        try decoder.refuseUnknownMembers(Set(CodingKeys.allCases.map(\.rawValue)))
        keys = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Keys.self, forKey: .keys)
    }
}

private struct AnyMember: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    fileprivate func refuseUnknownMembers(_ known: Set<String>) throws {
        let unknown = try container(keyedBy: AnyMember.self).allKeys.map(\.stringValue).sorted().first {
            !known.contains($0)
        }
        guard let unknown else { return }
        throw RulesFile.Problem("\((codingPath + [AnyMember(stringValue: unknown)]).words) is not known")
    }
}
