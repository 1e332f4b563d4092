import Digests
import HTTPSemantics
import HTTPTypes

/// The request fields that `Vary` names (RFC 9111 section 4.1), with a SHA-256 of each value: sufficient to match other
/// requests, and unreadable in a stolen cache. Under `Vary: Authorization` or `Vary: Cookie` they include credentials.
public struct SelectingFields: Sendable, Hashable {
    /// One field.
    public struct Value: Sendable, Hashable {
        /// The field's name in lower case.
        public var name: String
        /// The SHA-256 of the name and of the value, normalised as far as the field's syntax allows; `nil` if the
        /// request did not contain it.
        public var digest: [UInt8]?

        /// The size of a digest in bytes.
        public static let digestSize = 32

        public init(name: String, digest: [UInt8]?) {
            self.name = name
            self.digest = digest
        }
    }

    /// Sorted by name; each name occurs once.
    public private(set) var values: [Value]

    /// No fields.
    public init() { values = [] }

    /// Creates a value from stored ones. Of several with the same name the first counts.
    public init(_ values: [Value]) {
        self.values = []
        for value in values where self[value.name] == nil { self.values.append(value) }
        self.values.sort { $0.name < $1.name }
    }

    /// The named fields of a request. `*` is not a name.
    init(_ names: some Sequence<String>, of request: HTTPFields) {
        let names = Set(names).subtracting(["*"]).sorted()
        values = names.map { Value(name: $0, digest: VaryValue.digest($0, in: request)) }
    }

    /// The named field, if it was recorded.
    subscript(name: String) -> Value? { values.first { $0.name == name } }

    /// Returns true if a request has the same value in the named field. A field that was not recorded matches nothing:
    /// its value is unknown.
    func matches(_ name: String, in request: HTTPFields) -> Bool {
        guard let value = self[name] else { return false }
        // Absent in both is the most frequent case, and needs no digest.
        guard let digest = value.digest else { return !request.contains { $0.name.isNamed(name) } }
        return digest == VaryValue.digest(name, in: request)
    }

    /// Adds the values of fields that were not recorded before.
    mutating func add(_ other: SelectingFields) {
        for value in other.values where self[value.name] == nil { values.append(value) }
        values.sort { $0.name < $1.name }
    }

    /// Removes all fields but these.
    mutating func keep(_ names: Set<String>) { values.removeAll { !names.contains($0.name) } }
}

extension VaryValue {
    /// `nil` if the request does not contain the field.
    static func digest(_ name: String, in request: HTTPFields) -> [UInt8]? {
        normalized(name, in: request).map { ShortSHA256.digest(of: Array("\(name):\($0)".utf8)) }
    }
}
