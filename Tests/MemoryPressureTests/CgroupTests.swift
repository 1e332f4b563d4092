import Glibc
import Logging
import TestSupport
import Testing

@testable import MemoryCache

/// A simulated service that decodes images, in a real cgroup with a limit of 256 MiB.
@Suite(
    .enabled(if: MemoryCgroup.unavailableReason == nil, "\(MemoryCgroup.unavailableReason ?? "")"),
    .disabled(if: isSanitized(), "a sanitizer needs memory of its own, and keeps what is freed"), .serialized)
struct CgroupTests {
    private static let limit: Int64 = 256 << 20

    @Test func `a service that decodes 2,000 images is killed without the monitor`() async throws {
        let folder = try MemoryCgroup(limit: Self.limit)
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.folder as String] in
            try MemoryCgroup.enter(path)
            try Service(preferredUsage: 64 << 20, monitor: nil).decode(2000)
        }
    }

    @Test func `a warning of the monitor keeps a service alive by purging to the preferred usage`() async throws {
        let folder = try MemoryCgroup(limit: Self.limit)
        await #expect(processExitsWith: .success) { [path = folder.folder as String] in
            try MemoryCgroup.enter(path)
            let monitor = MemoryPressureMonitor()
            monitor.start()
            try Service(preferredUsage: 64 << 20, monitor: monitor).decode(2000)
            try #require(monitor.status.warnings > 0)
            monitor.stop()
        }
    }

    @Test
    func `critical pressure keeps a service alive that prefers to keep everything`()
        async throws
    {
        let folder = try MemoryCgroup(limit: Self.limit)
        await #expect(processExitsWith: .success) { [path = folder.folder as String] in
            try MemoryCgroup.enter(path)
            let monitor = MemoryPressureMonitor()
            monitor.start()
            try Service(preferredUsage: 4 << 30, monitor: monitor).decode(2000)
            try #require(monitor.status.criticals > 0)
            monitor.stop()
        }
    }

    @Test func `the kernel's events alone keep a service alive if the monitor is not notified of growth`() async throws
    {
        let folder = try MemoryCgroup(limit: Self.limit)
        await #expect(processExitsWith: .success) { [path = folder.folder as String] in
            try MemoryCgroup.enter(path)
            var configuration = MemoryPressureMonitor.Configuration()
            configuration.checkInterval = .milliseconds(20)
            configuration.warningUsage = 0.5
            configuration.criticalUsage = 0.6
            let monitor = MemoryPressureMonitor(configuration: configuration)
            monitor.start()
            let service = try Service(preferredUsage: 64 << 20, monitor: nil)
            monitor.observe(by: service.cache) { cache, pressure in cache.respond(to: pressure) }
            // As slowly as images are decoded.
            try service.decode(1000, pausing: 2000)
            try #require(monitor.status.warnings > 0)
            monitor.stop()
        }
    }
}

/// Decodes images of 512 KiB each, and keeps them in a cache that is allowed more than the machine allows.
private struct Service {
    /// RGBA8 of 512 × 256.
    final class FakeImage: Sendable {
        static let bytes = 512 * 256 * 4
        let pixels: [UInt8]

        init(_ number: Int) {
            pixels = [UInt8](unsafeUninitializedCapacity: Self.bytes) { buffer, count in
                _ = buffer.baseAddress.map { memset($0, Int32(number) | 1, Self.bytes) }
                count = Self.bytes
            }
        }
    }

    let cache: MemoryCache<LimitTests.Number, FakeImage>

    init(preferredUsage: Int, monitor: MemoryPressureMonitor?) throws {
        let limits = try MemoryCacheLimits(capacity: 8 << 30, preferredUsage: preferredUsage)
        cache = MemoryCache(limits: limits, monitor: monitor)
    }

    func decode(_ count: Int, pausing microseconds: UInt32 = 0) throws {
        for number in 0..<count {
            cache.insert(FakeImage(number), for: .init(number), cost: FakeImage.bytes)
            if microseconds > 0 { usleep(microseconds) }
        }
        try #require(cache.statistics.counts.inserts == count)
        try #require(cache.statistics.counts.purgedEntries > 0)
    }
}
