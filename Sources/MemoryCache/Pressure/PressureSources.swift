import Logging

/// The available sources of memory pressure, and the readings that are possible at any time: limits, or available
/// memory.
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
    /// The file for PSI triggers; nil: none.
    let stalls: String?
    let usesAvailableMemory: Bool

    var hasReadings: Bool { !limited.isEmpty || usesAvailableMemory }

    init(files: SystemFiles, configuration: MemoryPressureMonitor.Configuration) {
        self.files = files
        self.configuration = configuration
        let (v1, v2) = (ControlGroup.own(.v1, files: files), ControlGroup.own(.v2, files: files))
        limited =
            configuration.sources.contains(.limits)
            ? (v1 + v2).filter { $0.limit(files) != nil && $0.usage(files) != nil } : []
        stalls =
            configuration.sources.contains(.stalls)
            ? StallTrigger.file(in: v2.first, files: files, configuration: configuration) : nil
        usesAvailableMemory =
            stalls == nil && limited.isEmpty && configuration.sources.contains(.availableMemory)
        if usesAvailableMemory {
            configuration.logger.warning(
                "memory pressure: neither pressure stall information nor a cgroup limit is to be had, watching MemAvailable"
            )
        }
    }

    /// The sources in words, with their paths.
    var descriptions: [String] {
        var all = limited.map { "limit \($0.limit(files) ?? 0) bytes of \($0.folder)" }
        if let stalls { all.append("stalls by \(stalls)") }
        if usesAvailableMemory { all.append("MemAvailable of /proc/meminfo") }
        return all
    }

    /// Reads the present limits and usage.
    func reading() -> PressureReading {
        var worst = PressureReading()
        for group in limited {
            guard let limit = group.limit(files), let usage = group.usage(files) else { continue }
            let (warning, critical) = (
                Self.part(configuration.warningUsage, of: limit), Self.part(configuration.criticalUsage, of: limit)
            )
            // Only if necessary: computing `memory.stat` is expensive for the kernel.
            let used = usage < warning ? usage : max(0, usage - group.pageCache(files))
            worst.add(
                used >= critical ? .critical : used >= warning ? .warning : nil,
                "\(used) of \(limit) bytes in use, \(group.folder)", room: (used < warning ? warning : critical) - used,
                of: limit)
        }
        if usesAvailableMemory, let text = files.text("/proc/meminfo"),
            let total = SystemFiles.field("MemTotal", in: text).map({ $0 * 1024 }),
            let available = SystemFiles.field("MemAvailable", in: text).map({ $0 * 1024 })
        {
            let (warning, critical) = (
                Self.part(configuration.warningAvailable, of: total),
                Self.part(configuration.criticalAvailable, of: total)
            )
            worst.add(
                available < critical ? .critical : available < warning ? .warning : nil,
                "\(available) of \(total) bytes available",
                room: available - (available >= warning ? warning : critical), of: total)
        }
        return worst
    }

    private static func part(_ fraction: Double, of bytes: Int64) -> Int64 {
        Int64((Double(bytes) * min(1, max(0, fraction))).rounded(.up))
    }
}

extension PressureSources.PressureReading {
    /// Adds a reading. `room`: the bytes until the next level.
    fileprivate mutating func add(_ pressure: MemoryPressure?, _ reason: String, room: Int64, of limit: Int64) {
        if let pressure, self.pressure.map({ $0 < pressure }) ?? true {
            self.pressure = pressure
            self.reason = reason
        }
        // A quarter of the space, because other processes grow without reporting it; with no space left, not every step
        // is checked.
        credit = min(credit, Int(max(room / 4, limit / 256, 1)))
    }
}
