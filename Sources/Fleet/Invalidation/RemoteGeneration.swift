import Digests
import ImageCache
import RemoteStore

/// The generation of a resource in the fleet: a random number in its tombstone, which each invalidation replaces.
///
/// An object has the generation in which its response was requested. Generations are only compared for equality, so the order of clocks
/// does not matter.
struct RemoteGeneration: Sendable, Hashable {
    static let size = 16
    /// The generation before the first invalidation.
    static let first = RemoteGeneration(bytes: [UInt8](repeating: 0, count: size))
    /// The rounding error of the difference between two times of the store, which are in whole seconds.
    private static let rounding = Duration.seconds(2)

    let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Returns `nil` for another number of bytes.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        self.init(bytes: Array(bytes))
    }

    /// The generation of a new invalidation.
    static func new() -> RemoteGeneration {
        RemoteGeneration(bytes: (0..<size).map { _ in UInt8.random(in: 0 ... .max) })
    }

    /// The generation in a tombstone; nil if the content is invalid.
    init?(_ tombstone: RemoteReading) {
        switch tombstone.content {
        case .absent: self = .first
        case .unchanged: return nil
        case .object(let bytes): self.init(bytes)
        }
    }

    /// The generation of a response whose tombstone was not read before the request; nil if the tombstone may be newer than the request.
    ///
    /// - Parameter time: The time between the request and the reading of the tombstone.
    init?(_ tombstone: RemoteReading, requestedBefore time: Duration) {
        self.init(tombstone)
        guard self != .first else { return }
        guard let age = tombstone.age, age > time + Self.rounding else { return nil }
    }

    /// True if an object of a generation may be used in this one. Without a tombstone, all objects may be used: a tombstone only expires
    /// after the objects that it invalidates.
    func allows(_ object: RemoteGeneration) -> Bool { self == .first || self == object }

    /// The key of a resource's tombstone.
    static func tombstone(of url: String) -> String {
        ObjectClass.key(of: ShortSHA256.digest(of: url.utf8), under: "v1/gone/")
    }
}
