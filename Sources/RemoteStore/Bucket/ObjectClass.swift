import Digests

/// The classes of objects in a remote store, by the time that they are of use.
package enum ObjectClass: String, Sendable, CaseIterable {
    /// Responses with a body of one object.
    case responses = "v1/obj/"
    /// Derived images.
    case images = "v1/img/"
    /// Parts of large bodies, and their manifests.
    case parts = "v1/part/"
    case leases = "v1/lease/"
    case probes = "v1/probe/"
    /// Everything else, such as marks of what was invalidated, which must outlive what they invalidate.
    case others = "v1/"

    package var prefix: String { rawValue }

    /// The key of the object of a digest.
    package func key(of digest: [UInt8]) -> String { Self.key(of: digest, under: prefix) }

    /// The key of the object of a digest: the digest, under its first two hexadecimal digits.
    package static func key(of digest: [UInt8], under prefix: String) -> String {
        let name = digest.hexadecimal
        return "\(prefix)\(name.prefix(2))/\(name)"
    }

    /// The class of a key; nil: the object is not one of this package's.
    package init?(key: String) {
        guard let found = Self.allCases.first(where: { key.hasPrefix($0.prefix) }) else { return nil }
        self = found
    }

    /// The days until an object expires.
    ///
    /// - Parameter days: Those of responses.
    package func lifetime(days: Int) -> Int {
        switch self {
        case .responses, .images, .parts: days
        case .leases, .probes: 1
        case .others: days + 30
        }
    }

    /// True if an object begins with the digest that its key ends with.
    package func isSound(_ object: [UInt8], at key: String) -> Bool {
        switch self {
        case .responses, .images:
            guard object.count > 33 else { return false }
            return key.hasSuffix("/" + Array(object[1..<33]).hexadecimal)
        case .parts, .leases, .probes, .others: return true
        }
    }
}
