import ConcurrencyPrimitives
import Logging
import TestSupport
import Testing

@testable import MemoryCache

@Suite struct LimitTests {
    private func reading(
        _ stand: FakeSystemFiles, _ change: (inout MemoryPressureMonitor.Configuration) -> Void = { _ in }
    ) -> PressureSources.PressureReading {
        var configuration = MemoryPressureMonitor.Configuration()
        configuration.logger.logLevel = .critical
        change(&configuration)
        return PressureSources(files: stand.files, configuration: configuration).reading()
    }

    @Test(
        arguments: [
            (799, 0, nil), (800, 0, .warning), (899, 0, .warning), (900, 0, .critical), (1000, 0, .critical),
            (1000, 300, nil), (1000, 200, .warning), (1000, 101, .warning), (1000, 100, .critical), (0, 0, nil),
            (900, 5000, nil),
        ] as [(Int, Int, MemoryPressure?)])
    func `memory use is a warning at 80 percent of a limit and critical at 90, without page cache`(
        _ usage: Int, _ cache: Int, _ pressure: MemoryPressure?
    ) throws {
        let v2 = try FakeSystemFiles.version2()
        try v2.write("\(usage)", to: "/cgroup/service/worker/memory.current")
        try v2.write(
            "inactive_file \(cache / 2)\nactive_file \(cache - cache / 2)", to: "/cgroup/service/worker/memory.stat")
        #expect(reading(v2).pressure == pressure)

        let v1 = try FakeSystemFiles.version1()
        try v1.write("\(usage)", to: "/memory/job/memory.usage_in_bytes")
        try v1.write(
            "inactive_file 999\ntotal_inactive_file \(cache / 2)\ntotal_active_file \(cache - cache / 2)",
            to: "/memory/job/memory.stat")
        #expect(reading(v1).pressure == pressure)
    }

    @Test func `the limit of a parent cgroup counts too, and so does memory.high`() throws {
        let stand = try FakeSystemFiles.version2()
        try stand.write("2000", to: "/cgroup/service/memory.max")
        try stand.write("1700", to: "/cgroup/service/memory.current")
        #expect(reading(stand).pressure == .warning)
        try stand.write("1800", to: "/cgroup/service/memory.high")
        #expect(reading(stand).pressure == .critical)
        #expect(reading(stand).reason.contains("/cgroup/service"))
    }

    @Test func `a changed limit applies from the next check`() throws {
        let stand = try FakeSystemFiles.version2()
        let sources = PressureSources(files: stand.files, configuration: .init())
        #expect(sources.reading().pressure == nil)
        try stand.write("110", to: "/cgroup/service/worker/memory.max")
        #expect(sources.reading().pressure == .critical)
    }

    @Test func `the next check is due when a quarter of the remaining room may be used up`() throws {
        let stand = try FakeSystemFiles.version2()
        for (usage, credit) in [(0, 200), (400, 100), (796, 3), (800, 25), (880, 5), (950, 3)] {
            try stand.write("\(usage)", to: "/cgroup/service/worker/memory.current")
            #expect(reading(stand).credit == credit, "\(usage)")
        }
    }

    @Test
    func `growth within the credit is free, and further growth notifies the observers before it continues`() throws {
        let stand = try FakeSystemFiles.version2()
        let monitor = MemoryPressureMonitor(configuration: .init(), files: stand.files)
        let reports = Reports(monitor)
        monitor.grew(by: 1)  // the first look
        try stand.write("950", to: "/cgroup/service/worker/memory.current")
        monitor.grew(by: 175)
        #expect(reports.take() == [])
        monitor.grew(by: 1)
        #expect(reports.take() == [.critical])
        #expect(monitor.status.criticals == 1)
        #expect(monitor.status.last?.reason.contains("950 of 1000 bytes") == true)
    }

    @Test func `a cache empties itself while it is filled towards a limit, without a thread`() throws {
        let stand = try FakeSystemFiles.version2()
        let monitor = MemoryPressureMonitor(configuration: .init(), files: stand.files)
        let cache = MemoryCache<Number, Int>(limits: try MemoryCacheLimits(capacity: 5000), monitor: monitor)
        for number in 0..<100 {
            try stand.write("\(cache.statistics.bytes)", to: "/cgroup/service/worker/memory.current")
            cache.insert(number, for: Number(number), cost: 100)
            #expect(cache.statistics.bytes <= 1000)
        }
        #expect(monitor.status.criticals > 0)
    }

    struct Number: MemoryCacheKey {
        var number: Int
        init(_ number: Int) { self.number = number }
        var original: Number { self }
    }

    @Test func `available memory counts if there is neither PSI nor a limit, and this is logged`() throws {
        let stand = try FakeSystemFiles()
        let log = KeptLog.Lines()
        var configuration = MemoryPressureMonitor.Configuration()
        configuration.logger = Logger(label: "test") { _ in KeptLog(kept: log) }
        for (available, pressure) in [(101, nil), (100, nil), (99, .warning), (50, .warning), (49, .critical)]
            as [(Int, MemoryPressure?)]
        {
            try stand.write("MemTotal: 1000 kB\nMemFree: 5 kB\nMemAvailable: \(available) kB", to: "/proc/meminfo")
            #expect(reading(stand) { $0 = configuration }.pressure == pressure, "\(available)")
        }
        #expect(log.lines.withLock { $0.first?.contains("warning: memory pressure: neither") } == true)
    }

    @Test func `available memory is ignored without a log line if there is a limit`() throws {
        let stand = try FakeSystemFiles.version1()
        let log = KeptLog.Lines()
        var configuration = MemoryPressureMonitor.Configuration()
        configuration.logger = Logger(label: "test") { _ in KeptLog(kept: log) }
        try stand.write("MemTotal: 1000 kB\nMemAvailable: 0 kB", to: "/proc/meminfo")
        #expect(reading(stand) { $0 = configuration }.pressure == nil)
        #expect(log.lines.withLock { $0 } == [])
    }

    @Test func `files with invalid content give neither a limit nor pressure`() throws {
        let stand = try FakeSystemFiles.version2()
        try stand.write("lots", to: "/cgroup/service/worker/memory.max")
        try stand.write("MemTotal: 0 kB\nMemAvailable: -1 kB", to: "/proc/meminfo")
        try stand.write("0", to: "/cgroup/service/memory.max")
        #expect(reading(stand).pressure == .critical)  // a limit of nothing is used up
        try stand.write("", to: "/cgroup/service/memory.max")
        #expect(reading(stand).credit > 0)
    }
}
