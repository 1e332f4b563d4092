import Logging

/// The available sources of memory pressure, and the readings that are possible at any time: limits, or available memory.
struct PressureSources: Sendable {
    /// The result of a check.
    struct PressureReading: Sendable, Equatable {
        var pressure: MemoryPressure?
        /// The reason in words; empty without pressure.
        var reason = ""
        /// The number of bytes that may be allocated before the next check.
        var credit = Int.max / 2
    }

    let files: SystemFiles
    let configuration: MemoryPressureMonitor.Configuration
    /// The cgroups that had a limit when this was created.
    let limited: [ControlGroup]
    /// The file for stall triggers, the cgroup's own or the machine's; `nil`: none.
    let stalls: String?
    let usesAvailableMemory: Bool

    var hasReadings: Bool { !limited.isEmpty || usesAvailableMemory }

    init(files: SystemFiles, configuration: MemoryPressureMonitor.Configuration) {
        self.files = files
        self.configuration = configuration
        let wanted = configuration.sources
        let (v1, v2) = (ControlGroup.own(.v1, files: files), ControlGroup.own(.v2, files: files))
        limited =
            wanted.contains(.limits) ? (v1 + v2).filter { $0.limit(files) != nil && $0.usage(files) != nil } : []
        let candidates = v2.prefix(1).map { "\($0.folder)/memory.pressure" } + ["/proc/pressure/memory"]
        stalls = (wanted.contains(.stalls) ? candidates : []).first { path in
            let trigger = PressureSignal.stall(path, .warning, files: files, configuration: configuration)
            trigger?.close()
            return trigger != nil
        }
        usesAvailableMemory = stalls == nil && limited.isEmpty && wanted.contains(.availableMemory)
        if usesAvailableMemory {
            configuration.logger.warning(
                "memory pressure: neither pressure stall information nor a cgroup limit is to be had, watching MemAvailable"
            )
        }
    }

    /// The sources in words, with their paths.
    var descriptions: [String] {
        limited.map { "limit \($0.limit(files) ?? 0) bytes of \($0.folder)" }
            + (stalls.map { ["stalls by \($0)"] } ?? [])
            + (usesAvailableMemory ? ["MemAvailable of /proc/meminfo"] : [])
    }

    /// Reads the present limits and usage.
    func reading() -> PressureReading {
        var worst = PressureReading()
        for group in limited {
            guard let limit = group.limit(files), let usage = group.usage(files) else { continue }
            let warning = Self.part(configuration.warningUsage, of: limit)
            // Only if necessary: computing `memory.stat` is expensive for the kernel.
            let used = usage < warning ? usage : max(0, usage - group.pageCache(files))
            worst.add(
                roomToWarning: warning - used, toCritical: Self.part(configuration.criticalUsage, of: limit) - used,
                of: limit, "\(used) of \(limit) bytes in use, \(group.folder)")
        }
        if usesAvailableMemory, let text = files.text("/proc/meminfo"),
            let total = SystemFiles.field("MemTotal", in: text).map({ $0 * 1024 }),
            let available = SystemFiles.field("MemAvailable", in: text).map({ $0 * 1024 })
        {
            // Pressure begins below these shares, not at them.
            worst.add(
                roomToWarning: available - Self.part(configuration.warningAvailable, of: total) + 1,
                toCritical: available - Self.part(configuration.criticalAvailable, of: total) + 1,
                of: total, "\(available) of \(total) bytes available")
        }
        return worst
    }

    static func part(_ fraction: Double, of bytes: Int64) -> Int64 {
        Int64((Double(bytes) * min(1, max(0, fraction))).rounded(.up))
    }
}

extension PressureSources.PressureReading {
    /// Adds a reading: the bytes until each level, which is reached at 0.
    fileprivate mutating func add(
        roomToWarning warning: Int64, toCritical critical: Int64, of limit: Int64, _ reason: String
    ) {
        let pressure: MemoryPressure? = critical <= 0 ? .critical : warning <= 0 ? .warning : nil
        if let pressure, self.pressure.map({ $0 < pressure }) ?? true {
            self.pressure = pressure
            self.reason = reason
        }
        // A quarter of the space to the next level, because other processes grow without reporting it; with no space left, not every step
        // is checked.
        credit = min(credit, Int(max((warning > 0 ? warning : critical) / 4, limit / 256, 1)))
    }
}
