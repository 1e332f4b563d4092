/// A level of memory pressure.
public enum MemoryPressure: Int, Sendable, Hashable, Comparable {
    /// Memory is short: caches should purge to their preferred usage.
    case warning
    /// The process is about to stall or to be killed: caches should remove everything.
    case critical

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
