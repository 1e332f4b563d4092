import Digests
import HTTPSemantics
import HTTPTypes

/// The request fields that `Vary` names (RFC 9111 section 4.1), by a SHA-256 of each value: enough to tell whether another
/// request matches, and nothing that could be read from a stolen cache. Credentials are among them under
/// `Vary: Authorization` or `Vary: Cookie`.
public struct SelectingFields: Sendable, Hashable {
    /// One field.
    public struct Value: Sendable, Hashable {
        /// The field's name in lower case.
        public var name: String
        /// The SHA-256 of the name and of the value, normalised as the field's syntax allows; `nil` when the request did not
        /// have it.
        public var digest: [UInt8]?

        /// A digest's bytes.
        public static let digestSize = 32

        public init(name: String, digest: [UInt8]?) {
            self.name = name
            self.digest = digest
        }
    }

    /// In the order of their names, each of which occurs once.
    public private(set) var values: [Value]

    /// No field.
    public init() { values = [] }

    /// From stored values. Of several with the same name the first counts.
    public init(_ values: some Sequence<Value>) {
        self.values = []
        for value in values where self[value.name] == nil { self.values.append(value) }
        self.values.sort { $0.name < $1.name }
    }

    /// The named fields of a request. `*` is no name.
    init(_ names: some Sequence<String>, of request: HTTPFields) {
        let names = Set(names).subtracting(["*"]).sorted()
        values = names.map { Value(name: $0, digest: VaryValue.digest($0, in: request)) }
    }

    /// The named field, if it was recorded.
    subscript(name: String) -> Value? { values.first { $0.name == name } }

    /// Whether a request has the same value in the named field. A field that was not recorded matches nothing: its value is
    /// not known.
    func matches(_ name: String, in request: HTTPFields) -> Bool {
        guard let value = self[name] else { return false }
        // Absent in both is the most frequent case, and costs no digest.
        guard let digest = value.digest else { return !request.contains { $0.name.isNamed(name) } }
        return digest == VaryValue.digest(name, in: request)
    }

    /// Takes over the values of fields that were not recorded before.
    mutating func add(_ other: SelectingFields) {
        for value in other.values where self[value.name] == nil { values.append(value) }
        values.sort { $0.name < $1.name }
    }
}

extension VaryValue {
    /// `nil` when the request does not have the field.
    static func digest(_ name: String, in request: HTTPFields) -> [UInt8]? {
        normalized(name, in: request).map { ShortSHA256.digest(of: Array("\(name):\($0)".utf8)) }
    }
}
