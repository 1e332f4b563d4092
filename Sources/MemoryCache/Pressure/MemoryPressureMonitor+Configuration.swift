public import Logging

extension MemoryPressureMonitor {
    /// A source of memory pressure.
    public enum Source: Sendable, Hashable, CaseIterable {
        /// Pressure stall information.
        case stalls
        /// The limits of the process's cgroup and of its ancestors.
        case limits
        /// The machine's available memory; used only if the other sources are unavailable.
        case availableMemory
    }

    /// The configuration of a monitor: its sources and thresholds. Every value has a default.
    public struct Configuration: Sendable {
        /// The sources to use, if available. Default: all.
        public var sources = Set(Source.allCases)

        /// The time within two seconds for which some tasks waited for memory (`some`), as a warning. Default 150 ms, like systemd.
        public var warningStall = Duration.milliseconds(150)
        /// The time within two seconds for which all tasks waited at once (`full`), as critical. Default 200 ms.
        public var criticalStall = Duration.milliseconds(200)

        /// The used share of a limit, without page cache, as a warning. Default 0.8.
        public var warningUsage = 0.8
        /// The used share of a limit as critical. Default 0.9.
        public var criticalUsage = 0.9

        /// The available share of the machine's memory below which there is a warning. Default 0.1.
        public var warningAvailable = 0.1
        /// The available share of the machine's memory below which it is critical. Default 0.05.
        public var criticalAvailable = 0.05

        /// The interval of additional checks, for growth that is neither reported nor signalled by the kernel. Default one second; without
        /// a limit and with PSI there are no such checks.
        public var checkInterval = Duration.seconds(1)

        /// Receives a warning if only available memory can be monitored, and each pressure event (info).
        public var logger = Logger(label: "imgcache.memory")

        public init() { logger.logLevel = .warning }
    }
}
