import ConcurrencyPrimitives
import Foundation
import Logging
import MemoryCache
import TestSupport

@testable import MemoryCache

/// A directory in place of `/`, with the kernel's files that a test provides.
struct FakeSystemFiles {
    let directory: TestDirectory
    var files: SystemFiles { SystemFiles(root: directory.path) }

    init() throws {
        directory = try TestDirectory()
    }

    /// Writes a file, and makes the folders above it.
    func write(_ text: String, to path: String) throws {
        let path = directory.path + path
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try (text + "\n").write(toFile: path, atomically: false, encoding: .utf8)
    }

    /// A process in `/service/worker` of version 2, whose own cgroup has the limit 1000 and the one above it none.
    static func version2() throws -> FakeSystemFiles {
        let stand = try FakeSystemFiles()
        try stand.write("0::/service/worker", to: "/proc/self/cgroup")
        try stand.write("30 23 0:26 / /cgroup rw - cgroup2 cgroup2 rw", to: "/proc/self/mountinfo")
        for (folder, limit) in [("/cgroup/service", "max"), ("/cgroup/service/worker", "1000")] {
            try stand.write(limit, to: folder + "/memory.max")
            try stand.write("max", to: folder + "/memory.high")
            try stand.write("100", to: folder + "/memory.current")
            try stand.write("low 0\nhigh 0\nmax 0\noom 0\noom_kill 0", to: folder + "/memory.events")
            try stand.write("anon 100\ninactive_file 0\nactive_file 0", to: folder + "/memory.stat")
        }
        return stand
    }

    /// A process in `/job` of version 1 with the limit 1000.
    static func version1() throws -> FakeSystemFiles {
        let stand = try FakeSystemFiles()
        try stand.write("4:memory:/job\n0::/", to: "/proc/self/cgroup")
        try stand.write("30 23 0:26 / /memory rw - cgroup cgroup rw,memory", to: "/proc/self/mountinfo")
        for (folder, limit) in [("/memory", "9223372036854771712"), ("/memory/job", "1000")] {
            try stand.write(limit, to: folder + "/memory.limit_in_bytes")
            try stand.write("100", to: folder + "/memory.usage_in_bytes")
            try stand.write("inactive_file 7\ntotal_inactive_file 0\ntotal_active_file 0", to: folder + "/memory.stat")
        }
        return stand
    }
}

/// The reports of a monitor.
final class Reports: Sendable {
    private let all = Locked<[MemoryPressure]>([])

    init(_ monitor: MemoryPressureMonitor? = nil) {
        monitor?.observe(by: self) { reports, pressure in reports.add(pressure) }
    }

    func add(_ pressure: MemoryPressure) { all.withLock { $0.append(pressure) } }

    /// Everything since the last call.
    func take() -> [MemoryPressure] {
        all.withLock { all in
            defer { all = [] }
            return all
        }
    }

    /// Waits for a report; false: there was none for so many seconds.
    func come(within seconds: Double = patience) async -> Bool {
        await eventually(within: seconds) { all.withLock { !$0.isEmpty } }
    }
}

/// Keeps the logged messages.
struct KeptLog: LogHandler {
    final class Lines: Sendable {
        let lines = Locked<[String]>([])
    }

    let kept: Lines
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        kept.lines.withLock { $0.append("\(event.level): \(event.message)") }
    }
}
