/// How much a ``MemoryCache`` holds, in bytes.
///
/// Values exist only when they make sense together: setting them otherwise is an error at that moment, not a surprise
/// at the next purge.
public struct MemoryCacheLimits: Sendable, Hashable {
    /// When an insert takes the usage above this, the cache is purged; a usage equal to it is not. In bytes.
    public let capacity: Int

    /// What a purge leaves at most. In bytes, at most the capacity.
    public let preferredUsage: Int

    /// 100 MiB, purged to 60 MiB.
    public static let `default` = MemoryCacheLimits()

    private init() {
        capacity = 100 << 20
        preferredUsage = 60 << 20
    }

    /// - Parameters:
    ///   - capacity: in bytes.
    ///   - preferredUsage: in bytes; nil: six tenths of the capacity.
    /// - Throws: ``MemoryCacheLimitError`` when the capacity is below the preferred usage, or one of them below 0.
    public init(capacity: Int, preferredUsage: Int? = nil) throws(MemoryCacheLimitError) {
        guard capacity >= 0 else { throw .negative(capacity) }
        let preferredUsage = preferredUsage ?? capacity / 10 * 6 + capacity % 10 * 6 / 10
        guard preferredUsage >= 0 else { throw .negative(preferredUsage) }
        guard preferredUsage <= capacity else {
            throw .capacityBelowPreferredUsage(capacity: capacity, preferredUsage: preferredUsage)
        }
        self.capacity = capacity
        self.preferredUsage = preferredUsage
    }
}

/// Why limits cannot be.
public enum MemoryCacheLimitError: Error, Hashable, CustomStringConvertible {
    /// A purge would leave more than may be there. In bytes.
    case capacityBelowPreferredUsage(capacity: Int, preferredUsage: Int)
    /// A number of bytes below 0.
    case negative(Int)

    public var description: String {
        switch self {
        case .capacityBelowPreferredUsage(let capacity, let preferredUsage):
            "a memory cache's capacity of \(capacity) bytes is below its preferred usage of \(preferredUsage) bytes"
        case .negative(let bytes):
            "a memory cache cannot hold \(bytes) bytes"
        }
    }
}
