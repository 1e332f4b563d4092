public import FoundationEssentials
public import Logging

extension MemoryPressureMonitor {
    /// What can be listened to.
    public enum Source: Sendable, Hashable, CaseIterable {
        /// Pressure stall information.
        case stalls
        /// Limits of the process's cgroup and of those above it.
        case limits
        /// The machine's available memory; used only where the others are not to be had.
        case availableMemory
    }

    /// When memory counts as short. Every value has a sensible default.
    public struct Configuration: Sendable {
        /// What to listen to, of what there is. Default: everything.
        public var sources = Set(Source.allCases)

        /// A warning, when tasks waited for memory so long in two seconds (`some`). Default 150 ms, as systemd has it.
        public var warningStall = Duration.milliseconds(150)
        /// Critical, when all tasks waited at once for so long in two seconds (`full`). Default 200 ms.
        public var criticalStall = Duration.milliseconds(200)

        /// A warning, when so much of a limit is in use, page cache not counted. Default 0.8.
        public var warningUsage = 0.8
        /// Critical, when so much of a limit is in use. Default 0.9.
        public var criticalUsage = 0.9

        /// A warning, when less than this part of the machine's memory is available. Default 0.1.
        public var warningAvailable = 0.1
        /// Critical, when less than this part of the machine's memory is available. Default 0.05.
        public var criticalAvailable = 0.05

        /// How often usage is looked at besides, for growth that nobody tells of and the kernel has no event for. Default
        /// one second; without a limit and with PSI nothing is looked at.
        public var checkInterval = Duration.seconds(1)

        /// For the dates in ``MemoryPressureMonitor/status``.
        public var clock = MemoryCacheClock.system

        /// Takes a warning where nothing better than available memory is to be had, and word of each pressure (info).
        public var logger = Logger(label: "imgcache.memory")

        public init() { logger.logLevel = .warning }
    }
}

/// What a monitor listens to, and what it heard, for a debug view.
public struct MemoryPressureStatus: Sendable {
    /// One time that memory was short.
    public struct Event: Sendable {
        public let pressure: MemoryPressure
        /// In words.
        public let reason: String
        public let date: Date
    }

    /// In words, with the paths.
    public internal(set) var sources: [String] = []
    public internal(set) var warnings = 0
    public internal(set) var criticals = 0
    public internal(set) var last: Event?
}
