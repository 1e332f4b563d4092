/// A secret for signing URLs, with the name by which URLs refer to it.
package struct SigningKey: Sendable, Equatable {
    /// 1 to 64 letters, digits, `.`, `_` and `-`. Visible in the URL.
    package let id: String
    let secret: [UInt8]

    /// The least length in bytes; RFC 2104 section 3 recommends at least the digest's length, 32.
    package static let fewestBytes = 16
    package static let mostBytes = 1024

    package init(id: String, secret: [UInt8]) throws(SigningKeyError) {
        guard (1...64).contains(id.utf8.count), id.utf8.allSatisfy(\.isUnreservedInKeyID) else {
            throw SigningKeyError("a key's id is 1 to 64 letters, digits, '.', '_' and '-'")
        }
        guard secret.count >= Self.fewestBytes else {
            throw SigningKeyError(
                "the key \(id) has \(secret.count) bytes; it needs at least \(Self.fewestBytes), preferably 32 "
                    + "(openssl rand -base64 32)")
        }
        guard secret.count <= Self.mostBytes else {
            throw SigningKeyError("the key \(id) has more than \(Self.mostBytes) bytes")
        }
        self.id = id
        self.secret = secret
    }
}

/// The description contains the id only, never the secret.
extension SigningKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "key \(id)" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// An error in the keys.
package struct SigningKeyError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

extension UInt8 {
    var isUnreservedInKeyID: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
