public import FoundationEssentials

/// The limits of a `MemoryCache`, in bytes.
///
/// Inconsistent limits cannot be created: the initialiser throws.
public struct MemoryCacheLimits: Sendable, Hashable {
    /// The usage above which an insert purges the cache, in bytes.
    public let capacity: Int

    /// The usage to which a purge reduces the cache, in bytes; at most the capacity.
    public let preferredUsage: Int

    /// 100 MiB, purged to 60 MiB.
    public static let `default` = MemoryCacheLimits(100 << 20, 60 << 20)

    /// Nothing is kept.
    public static let zero = MemoryCacheLimits(0, 0)

    private init(_ capacity: Int, _ preferredUsage: Int) {
        self.capacity = capacity
        self.preferredUsage = preferredUsage
    }

    /// - Parameters:
    ///   - capacity: The capacity in bytes.
    ///   - preferredUsage: The preferred usage in bytes; nil: six tenths of the capacity.
    /// - Throws: `MemoryCacheLimitError` if the capacity is below the preferred usage, or one of them is negative.
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

/// An error in the limits of a memory cache.
public enum MemoryCacheLimitError: Error, Hashable, CustomStringConvertible, LocalizedError {
    /// The preferred usage exceeds the capacity. In bytes.
    case capacityBelowPreferredUsage(capacity: Int, preferredUsage: Int)
    /// A negative number of bytes.
    case negative(Int)

    public var description: String {
        switch self {
        case .capacityBelowPreferredUsage(let capacity, let preferredUsage):
            "a memory cache's capacity of \(capacity) bytes is below its preferred usage of \(preferredUsage) bytes"
        case .negative(let bytes):
            "a memory cache cannot hold \(bytes) bytes"
        }
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
