import Digests
import RemoteStore

/// A resource's invalidations in the fleet, until one of them: a random number in its tombstone, which each invalidation replaces.
///
/// Objects carry the generation that their response was requested in. Equality is all that counts: no clock says what was first.
struct RemoteGeneration: Sendable, Hashable {
    static let size = 16
    /// The generation before the first invalidation.
    static let first = RemoteGeneration(bytes: [UInt8](repeating: 0, count: size))
    /// The time by which the times of two responses of a store may be apart from what they say, in whole seconds each.
    private static let rounding = Duration.seconds(2)

    let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// `nil` for another number of bytes.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        self.init(bytes: Array(bytes))
    }

    /// The generation of a new invalidation.
    static func new() -> RemoteGeneration {
        RemoteGeneration(bytes: (0..<size).map { _ in UInt8.random(in: 0 ... .max) })
    }

    /// The generation that a tombstone says; nil: it is none of ours.
    init?(_ tombstone: RemoteReading) {
        switch tombstone.content {
        case .absent: self = .first
        case .unchanged: return nil
        case .object(let bytes): self.init(bytes)
        }
    }

    /// The generation of a response that was requested so long before its resource's tombstone was read, without a look at the tombstone
    /// before; nil: the tombstone may be younger than the request.
    init?(_ tombstone: RemoteReading, requestedBefore time: Duration) {
        self.init(tombstone)
        guard self != .first else { return }
        guard let age = tombstone.age, age > time + Self.rounding else { return nil }
    }

    /// True if an object of another generation may be used while this is its resource's: of an object that carries a generation, and
    /// whose resource has no tombstone any more, the tombstone has expired.
    func allows(_ object: RemoteGeneration) -> Bool { self == .first || self == object }

    /// The name of a resource's tombstone.
    static func tombstone(of url: String) -> String {
        ObjectClass.key(of: ShortSHA256.digest(of: url.utf8), under: "v1/gone/")
    }
}
