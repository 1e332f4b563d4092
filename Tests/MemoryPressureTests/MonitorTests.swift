import Glibc
import Logging
import TestSupport
import Testing

@testable import MemoryCache

@Suite struct MonitorTests {
    @Test func `a change of memory.events triggers a check`() async throws {
        let stand = try FakeSystemFiles.version2()
        var configuration = MemoryPressureMonitor.Configuration()
        configuration.checkInterval = .seconds(3600)
        let monitor = MemoryPressureMonitor(configuration: configuration, files: stand.files)
        let reports = Reports(monitor)
        monitor.start()
        #expect(monitor.status.sources.contains("events of /cgroup/service/worker"))
        #expect(reports.take() == [])
        try stand.write("850", to: "/cgroup/service/worker/memory.current")
        try stand.write("low 0\nhigh 0\nmax 1\noom 0", to: "/cgroup/service/worker/memory.events")
        #expect(await reports.come())
        #expect(Set(reports.take()) == [.warning])
        monitor.stop()
    }

    @Test func `growth that is not reported is noticed at the next check`() async throws {
        let stand = try FakeSystemFiles.version1()
        var configuration = MemoryPressureMonitor.Configuration()
        configuration.checkInterval = .milliseconds(1)
        let monitor = MemoryPressureMonitor(configuration: configuration, files: stand.files)
        let reports = Reports(monitor)
        monitor.start()
        try stand.write("990", to: "/memory/job/memory.usage_in_bytes")
        #expect(await reports.come())
        #expect(Set(reports.take()) == [.critical])
        monitor.stop()
    }

    @Test func `an explicit report reaches every living observer before it returns`() throws {
        let monitor = MemoryPressureMonitor(configuration: .init(), files: try FakeSystemFiles.version1().files)
        let (one, two) = (Reports(monitor), Reports(monitor))
        do {
            let gone = Reports(monitor)
            monitor.report(.critical)
            #expect(gone.take() == [.critical])
        }
        monitor.report(.warning)
        monitor.report(.critical)
        #expect(one.take() == [.critical, .warning, .critical])
        #expect(two.take() == [.critical, .warning, .critical])
        #expect(monitor.status.warnings == 1)
        #expect(monitor.status.criticals == 2)
    }

    @Test func `stopping or releasing a running monitor waits for its thread to end`() throws {
        let stand = try FakeSystemFiles.version2()
        let sources = PressureSources(files: stand.files, configuration: .init())
        weak var thread: PressureThread?
        do {
            let started = try #require(PressureThread.start(sources) { _ in })
            thread = started
            started.end()
            started.end()
        }
        #expect(thread == nil)

        weak var released: MemoryPressureMonitor?
        do {
            let monitor = MemoryPressureMonitor(configuration: .init(), files: stand.files)
            released = monitor
            monitor.start()
            monitor.start()
        }
        #expect(released == nil)
    }

    @Test func `a monitor can be stopped by its own observer, and be started again`() async throws {
        let stand = try FakeSystemFiles.version1()
        try stand.write("990", to: "/memory/job/memory.usage_in_bytes")
        var configuration = MemoryPressureMonitor.Configuration()
        configuration.checkInterval = .milliseconds(1)
        let monitor = MemoryPressureMonitor(configuration: configuration, files: stand.files)
        let reports = Reports()
        monitor.observe(by: reports) { [weak monitor] reports, pressure in
            monitor?.stop()
            reports.add(pressure)
        }
        for _ in 0..<3 {
            monitor.start()
            #expect(await reports.come())
            _ = reports.take()
        }
    }

    @Test func `growth, reports, starts and stops work on many threads at once`() async throws {
        let stand = try FakeSystemFiles.version1()
        try stand.write("850", to: "/memory/job/memory.usage_in_bytes")
        let monitor = MemoryPressureMonitor(configuration: .init(), files: stand.files)
        let cache = MemoryCache<LimitTests.Number, Int>(monitor: monitor)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<100 {
                        cache.insert(step, for: .init(task * 1000 + step), cost: 10)
                        if step % 50 == 0 { monitor.start() }
                        if step % 50 == 25 { monitor.stop() }
                        if step % 50 == 30 { monitor.report(.critical) }
                    }
                }
            }
        }
        monitor.stop()
        #expect(monitor.status.criticals >= 16)
        #expect(cache.statistics.bytes == cache.snapshot.entries.count * 10)
    }
}
