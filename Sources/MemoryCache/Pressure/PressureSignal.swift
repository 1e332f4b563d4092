import CLinux
import Glibc

/// A descriptor that the kernel makes ready on memory pressure.
struct PressureSignal: Sendable {
    enum Meaning: Sendable {
        case pressure(MemoryPressure, String)
        /// The usage is to be compared with the limits.
        case check
    }

    let descriptor: Int32
    let events: Int32
    let meaning: Meaning

    func close() { _ = Glibc.close(descriptor) }

    /// The signals of all available sources, and descriptions of them. A source that cannot be set up (a read-only cgroup file system in a
    /// container) is omitted: growth is checked nevertheless.
    static func all(of sources: PressureSources) -> (signals: [PressureSignal], descriptions: [String]) {
        var signals: [PressureSignal] = []
        var descriptions: [String] = []
        if let path = sources.stalls {
            signals = [.warning, .critical].compactMap {
                stall(path, $0, files: sources.files, configuration: sources.configuration)
            }
        }
        for group in sources.limited {
            let added = group.version == .v1 ? thresholds(of: group, sources) : changes(of: group, sources.files)
            if !added.isEmpty { descriptions.append("events of \(group.folder)") }
            signals += added
        }
        return (signals, descriptions)
    }

    /// Pressure stall information: a trigger is set by writing it into the file, and fires (POLLPRI) at most once in each window while the
    /// file is open (the kernel's Documentation/accounting/psi.rst). Returns `nil` if the file accepts no trigger.
    static func stall(
        _ path: String, _ level: MemoryPressure, files: SystemFiles, configuration: MemoryPressureMonitor.Configuration
    ) -> PressureSignal? {
        let descriptor = clinux_open(files.root + path, O_RDWR | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return nil }
        // Processes without CAP_SYS_RESOURCE are limited to windows of whole multiples of two seconds.
        let window = Duration.seconds(2)
        let (kind, stall) =
            level == .warning ? ("some", configuration.warningStall) : ("full", configuration.criticalStall)
        let text = "\(kind) \(min(max(stall, .microseconds(1)), window).whole(.microseconds(1))) 2000000"
        // Include a terminating zero byte, because the kernel overwrites the last byte.
        guard text.withCString({ write(descriptor, $0, strlen($0) + 1) }) > 0 else {
            Glibc.close(descriptor)
            return nil
        }
        return PressureSignal(descriptor: descriptor, events: POLLPRI, meaning: .pressure(level, "stalls, \(path)"))
    }

    /// Version 1: an eventfd for each of two thresholds of usage, and one for each of two levels of reclaim pressure (the kernel's
    /// Documentation/admin-guide/cgroup-v1/memory.rst, sections 9 and 11).
    private static func thresholds(of group: ControlGroup, _ sources: PressureSources) -> [PressureSignal] {
        guard let limit = group.limit(sources.files) else { return [] }
        let usages = [sources.configuration.warningUsage, sources.configuration.criticalUsage]
        let folder = sources.files.root + group.folder
        let wanted =
            usages.map { ("memory.usage_in_bytes", "\(PressureSources.part($0, of: limit))", Meaning.check) } + [
                ("memory.pressure_level", "medium", .check),
                (
                    "memory.pressure_level", "critical",
                    .pressure(.critical, "the kernel hardly finds memory, \(group.folder)")
                ),
            ]
        return wanted.compactMap { file, argument, meaning in
            let control = clinux_open("\(folder)/cgroup.event_control", O_WRONLY, 0)
            let watched = clinux_open("\(folder)/\(file)", O_RDONLY, 0)
            let descriptor = clinux_eventfd()
            // The registration lives as long as the eventfd.
            defer { for opened in [control, watched] where opened >= 0 { Glibc.close(opened) } }
            let text = "\(descriptor) \(watched) \(argument)"
            guard control >= 0, watched >= 0, descriptor >= 0,
                text.withCString({ write(control, $0, strlen($0)) }) > 0
            else {
                if descriptor >= 0 { Glibc.close(descriptor) }
                return nil
            }
            return PressureSignal(descriptor: descriptor, events: POLLIN, meaning: meaning)
        }
    }

    /// Version 2: `memory.events` counts how often a limit was reached. The kernel signals its changes as changes of a file (the
    /// kernel's Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files").
    private static func changes(of group: ControlGroup, _ files: SystemFiles) -> [PressureSignal] {
        let descriptor = clinux_inotify()
        guard descriptor >= 0 else { return [] }
        guard clinux_watch_changes(descriptor, "\(files.root)\(group.folder)/memory.events") >= 0 else {
            Glibc.close(descriptor)
            return []
        }
        return [PressureSignal(descriptor: descriptor, events: POLLIN, meaning: .check)]
    }
}

extension Duration {
    /// The number of whole units, clamped to the range of `Int32`.
    func whole(_ unit: Duration) -> Int { Int(min(max(self / unit, 0), Double(Int32.max))) }
}
