public import FoundationEssentials

/// A level of memory pressure.
public enum MemoryPressure: Int, Sendable, Hashable, Comparable {
    /// Memory is short: caches should purge to their preferred usage.
    case warning
    /// The process is about to stall or to be killed: caches should remove everything.
    case critical

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The sources and recent events of a monitor, for a debug view.
public struct MemoryPressureStatus: Sendable {
    /// An occurrence of memory pressure.
    public struct Event: Sendable {
        public let pressure: MemoryPressure
        /// The reason in words.
        public let reason: String
        public let date: Date
    }

    /// The sources in words, with their paths.
    public internal(set) var sources: [String] = []
    public internal(set) var warnings = 0
    public internal(set) var criticals = 0
    public internal(set) var last: Event?
}
