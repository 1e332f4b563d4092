import CLinux
import Glibc

/// The descriptors that the monitor's thread waits for, each with the meaning of its readiness.
final class PressureWatch: Sendable {
    enum Event: Sendable {
        case pressure(MemoryPressure, String)
        case look
    }

    struct Item: Sendable {
        let descriptor: Int32
        let events: Int16
        let event: Event
    }

    let items: [Item]
    /// Descriptions of the active sources.
    let descriptions: [String]
    /// The poll time-out in milliseconds; -1: none.
    let timeout: Int32

    /// Sets up all available sources. A source that cannot be set up (a read-only cgroup file system in a container) is
    /// omitted: growth is checked nevertheless.
    init(_ sources: PressureSources, configuration: MemoryPressureMonitor.Configuration) {
        var items: [Item] = []
        var descriptions: [String] = []
        if let path = sources.stalls {
            for level in [MemoryPressure.warning, .critical] {
                guard
                    let trigger = StallTrigger.open(path, level, files: sources.files, configuration: configuration)
                else { continue }
                items.append(
                    Item(descriptor: trigger, events: Int16(POLLPRI), event: .pressure(level, "stalls, \(path)")))
            }
        }
        for group in sources.limited {
            let added =
                group.version == .v1
                ? Self.thresholds(of: group, sources.files, configuration) : Self.changes(of: group, sources.files)
            if !added.isEmpty { descriptions.append("events of \(group.folder)") }
            items += added
        }
        self.items = items
        self.descriptions = descriptions
        timeout =
            sources.hasReadings
            ? Int32(min(max(configuration.checkInterval.nanoseconds / 1_000_000, 1), 3_600_000)) : -1
    }

    deinit {
        for item in items { close(item.descriptor) }
    }

    /// Version 1: an eventfd for each of two thresholds of usage, and one for each of two levels of reclaim pressure
    /// (the kernel's Documentation/admin-guide/cgroup-v1/memory.rst, sections 9 and 11).
    private static func thresholds(
        of group: ControlGroup, _ files: SystemFiles, _ configuration: MemoryPressureMonitor.Configuration
    ) -> [Item] {
        guard let limit = group.limit(files) else { return [] }
        let threshold = { (part: Double) in String(Int64(Double(limit) * min(1, max(0, part)))) }
        let wanted: [(file: String, argument: String, event: PressureWatch.Event)] = [
            ("memory.usage_in_bytes", threshold(configuration.warningUsage), .look),
            ("memory.usage_in_bytes", threshold(configuration.criticalUsage), .look),
            ("memory.pressure_level", "medium", .look),
            (
                "memory.pressure_level", "critical",
                .pressure(.critical, "the kernel hardly finds memory, \(group.folder)")
            ),
        ]
        return wanted.compactMap { file, argument, event in
            let control = clinux_open("\(files.root)\(group.folder)/cgroup.event_control", O_WRONLY, 0)
            let watched = clinux_open("\(files.root)\(group.folder)/\(file)", O_RDONLY, 0)
            let descriptor = clinux_eventfd()
            defer {
                // The registration lives as long as the eventfd.
                if control >= 0 { close(control) }
                if watched >= 0 { close(watched) }
            }
            let text = "\(descriptor) \(watched) \(argument)"
            guard control >= 0, watched >= 0, descriptor >= 0,
                text.withCString({ write(control, $0, strlen($0)) }) > 0
            else {
                if descriptor >= 0 { close(descriptor) }
                return nil
            }
            return Item(descriptor: descriptor, events: Int16(POLLIN), event: event)
        }
    }

    /// Version 2: `memory.events` counts the times at which a limit was reached; the kernel signals its changes like
    /// those of a file (the kernel's Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files").
    private static func changes(of group: ControlGroup, _ files: SystemFiles) -> [Item] {
        let descriptor = clinux_inotify()
        guard descriptor >= 0 else { return [] }
        guard clinux_watch_changes(descriptor, "\(files.root)\(group.folder)/memory.events") >= 0 else {
            close(descriptor)
            return []
        }
        return [Item(descriptor: descriptor, events: Int16(POLLIN), event: .look)]
    }
}
