import Glibc
import TestSupport
import Testing

@testable import MemoryCache

/// The kernel's own word, with real stalls: a process in a real cgroup reads, again and again, a file that is larger than all
/// the memory it may use.
@Suite(
    .enabled(if: unavailableReason == nil, "\(unavailableReason ?? "")"),
    .disabled(if: isSanitized(), "a sanitizer needs memory of its own"))
struct StallTests {
    static let limit: Int64 = 64 << 20

    @Test func `a trigger fires when reads evict pages that are needed again, and the monitor warns`() async throws {
        let folder = try MemoryCgroup(limit: Self.limit)
        let directory = try TestDirectory()
        await #expect(processExitsWith: .success) {
            [path = folder.folder as String, file = directory.path("file") as String] in
            try MemoryCgroup.enter(path)
            // All hole: it takes no room on disk, and its pages take as much memory as any.
            let descriptor = open(file, O_RDWR | O_CREAT, 0o600)
            try #require(descriptor >= 0 && ftruncate(descriptor, off_t(4 * StallTests.limit)) == 0)
            var configuration = MemoryPressureMonitor.Configuration()
            configuration.sources = [.stalls]
            configuration.warningStall = .milliseconds(1)
            let monitor = MemoryPressureMonitor(configuration: configuration)
            monitor.start()
            try #require(monitor.status.sources.contains { $0.hasPrefix("stalls by ") })
            let deadline = ContinuousClock.now + .seconds(patience)
            var buffer = [UInt8](repeating: 0, count: 1 << 20)
            while monitor.status.warnings == 0, ContinuousClock.now < deadline {
                lseek(descriptor, 0, SEEK_SET)
                while read(descriptor, &buffer, buffer.count) > 0, monitor.status.warnings == 0 {}
            }
            let last = try #require(monitor.status.last)
            #expect(last.reason.hasPrefix("stalls, "))
            monitor.stop()
        }
    }
}

/// The reason why such a stall is impossible here, or nil.
private let unavailableReason: String? = {
    if let reason = MemoryCgroup.unavailableReason { return reason }
    guard access("/proc/pressure/memory", W_OK) == 0 else {
        return "the kernel gives no pressure stall information: \(String(cString: strerror(errno)))"
    }
    // Pages of a memory file system cannot be dropped and read again.
    guard let directory = try? TestDirectory(), let mounts = SystemFiles().text("/proc/self/mounts") else {
        return "no temporary folder"
    }
    // The longest path that leads there, the last one mounted on it.
    var (point, kind) = ("", "")
    for line in mounts.split(separator: "\n") {
        let words = line.split(separator: " ").map(String.init)
        guard words.count > 2, words[1].utf8.count >= point.utf8.count else { continue }
        let folder = words[1] == "/" ? "/" : words[1] + "/"
        if directory.path.hasPrefix(folder) { (point, kind) = (words[1], words[2]) }
    }
    return kind == "tmpfs" ? "the temporary folder is in memory" : nil
}()
