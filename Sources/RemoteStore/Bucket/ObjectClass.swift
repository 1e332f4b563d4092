import Digests

/// The classes of objects in a remote store, which differ in their lifetime.
package enum ObjectClass: String, Sendable, CaseIterable {
    /// Responses whose body is stored in one object.
    case responses = "v1/obj/"
    /// Derived images.
    case images = "v1/img/"
    /// Parts of large bodies, and their manifests.
    case parts = "v1/part/"
    case leases = "v1/lease/"
    case probes = "v1/probe/"
    /// Everything else, such as invalidation records, which must outlive the objects that they invalidate.
    case others = "v1/"

    package var prefix: String { rawValue }

    /// The key of the object with a digest.
    package func key(of digest: [UInt8]) -> String { Self.key(of: digest, under: prefix) }

    /// The key of the object with a digest: the digest, in a folder named by its first two hexadecimal digits.
    package static func key(of digest: [UInt8], under prefix: String) -> String {
        let name = digest.hexadecimal
        return "\(prefix)\(name.prefix(2))/\(name)"
    }

    /// The class of a key, or nil if this package did not write the object.
    package init?(key: String) {
        guard let found = Self.allCases.first(where: { key.hasPrefix($0.prefix) }) else { return nil }
        self = found
    }

    /// The days until an object expires.
    ///
    /// - Parameter days: The lifetime of responses in days.
    package func lifetime(days: Int) -> Int {
        switch self {
        case .responses, .images, .parts: days
        case .leases, .probes: 1
        case .others: days + 30
        }
    }

    /// True if an object begins with the digest at the end of its key.
    package func isSound(_ object: [UInt8], at key: String) -> Bool {
        switch self {
        case .responses, .images:
            guard object.count > 33 else { return false }
            return key.hasSuffix("/" + Array(object[1..<33]).hexadecimal)
        case .parts, .leases, .probes, .others: return true
        }
    }
}
