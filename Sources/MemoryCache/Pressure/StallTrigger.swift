import CLinux
import Glibc

/// Pressure stall information: a trigger is set by writing it into the file, and polled while the file is open (the
/// kernel's Documentation/accounting/psi.rst).
enum StallTrigger {
    /// Processes without CAP_SYS_RESOURCE are limited to windows of whole multiples of two seconds.
    private static let window = Duration.seconds(2)

    /// The first file that accepts a trigger: the cgroup's own, or the machine's.
    static func file(
        in group: ControlGroup?, files: SystemFiles, configuration: MemoryPressureMonitor.Configuration
    ) -> String? {
        let candidates = [group.map { "\($0.folder)/memory.pressure" }, "/proc/pressure/memory"].compactMap(\.self)
        return candidates.first { path in
            guard let descriptor = open(path, .warning, files: files, configuration: configuration) else {
                return false
            }
            close(descriptor)
            return true
        }
    }

    /// Sets a trigger. The descriptor becomes readable out of band (POLLPRI) when it fires, at most once in each
    /// window.
    static func open(
        _ path: String, _ level: MemoryPressure, files: SystemFiles, configuration: MemoryPressureMonitor.Configuration
    ) -> Int32? {
        let descriptor = clinux_open(files.root + path, O_RDWR | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return nil }
        let (kind, stall) =
            level == .warning ? ("some", configuration.warningStall) : ("full", configuration.criticalStall)
        let microseconds = min(max(stall, .microseconds(1)), window).nanoseconds / 1000
        // Include a terminating zero byte, because the kernel overwrites the last byte.
        let text = "\(kind) \(microseconds) \(window.nanoseconds / 1000)"
        let written = text.withCString { write(descriptor, $0, strlen($0) + 1) }
        guard written > 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
