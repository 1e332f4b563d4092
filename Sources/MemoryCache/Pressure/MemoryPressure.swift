/// How short memory is.
public enum MemoryPressure: Int, Sendable, Hashable, Comparable {
    /// What can be had again should shrink: a cache purges to its preferred usage.
    case warning
    /// The process is about to stall or to be killed: a cache gives up everything.
    case critical

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
