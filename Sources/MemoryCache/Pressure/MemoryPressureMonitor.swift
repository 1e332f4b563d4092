import ConcurrencyPrimitives
import FoundationEssentials
import Logging
import Synchronization

/// A monitor that informs memory caches of memory pressure, before the kernel kills the process.
///
/// It listens to the kernel on its own thread, which is idle between events:
///
/// - **Stalls**: the pressure stall information (PSI, Linux 4.20) of the process's own cgroup (`memory.pressure`), otherwise the machine's
///   (`/proc/pressure/memory`). Triggers fire when tasks have waited for memory.
/// - **Limits** of the process's cgroup and its ancestors: version 2 (`memory.max`, `memory.high`, `memory.events`) and version 1
///   (thresholds of usage and `memory.pressure_level` by eventfd). Page cache does not count as used, because the kernel reclaims it. A
///   limit may be reached within milliseconds, so the monitor is also informed of growth (``grew(by:)``; a ``MemoryCache`` does that). It
///   then checks the usage on the growing thread, before the free memory found by the last check can be used up.
/// - **Available memory** (`MemAvailable` in `/proc/meminfo`), if neither of the above is available. This is logged.
/// - **Calls**: ``report(_:)``.
///
/// ```swift
/// let monitor = MemoryPressureMonitor()
/// monitor.start()
/// let cache = MemoryCache<ImageKey, DecodedImage>(monitor: monitor)
/// ```
public final class MemoryPressureMonitor: Sendable {
    private struct State {
        /// Observers by order of registration; a handler returns false if its observer no longer exists.
        var observers: [Int: @Sendable (MemoryPressure) -> Bool] = [:]
        var observersSoFar = 0
        var status = MemoryPressureStatus()
        var thread: PressureThread?
    }

    /// More bytes than any machine has.
    private static let mostGrowth = 1 << 48

    private let sources: PressureSources
    private let state = Locked(State())
    /// The number of bytes that may be allocated before the next check.
    private let credit: Atomic<Int>
    /// One thread checks and purges; threads that want to grow wait until it has finished.
    private let gate = ReentrancyGuard()

    /// Creates a monitor and determines its sources. It listens after ``start()``.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration, files: SystemFiles())
    }

    init(configuration: Configuration, files: SystemFiles) {
        sources = PressureSources(files: files, configuration: configuration)
        credit = Atomic(sources.hasReadings ? 0 : .max / 2)
        state.withLock { $0.status.sources = sources.descriptions }
    }

    deinit { stop() }

    /// Starts listening. A second call does nothing.
    public func start() {
        state.withLock { state in
            guard state.thread == nil else { return }
            state.thread = PressureThread.start(sources) { [weak self] meaning in
                switch meaning {
                case .pressure(let pressure, let reason): self?.report(pressure, because: reason)
                case .check: self?.look(waiting: false)
                }
            }
            state.status.sources = sources.descriptions + (state.thread?.descriptions ?? [])
        }
        look(waiting: false)
    }

    /// Stops listening, and waits until the thread has ended, unless it is called on that thread.
    public func stop() {
        let thread = state.withLock { state in
            defer { state.thread = nil }
            return state.thread
        }
        thread?.end()
    }

    /// Informs every observer, on this thread, before it returns.
    public func report(_ pressure: MemoryPressure) {
        report(pressure, because: "reported by a call")
    }

    private func report(_ pressure: MemoryPressure, because reason: String) {
        sources.configuration.logger.info("memory pressure: \(pressure)", metadata: ["reason": "\(reason)"])
        let date = Date()
        let observers = state.withLock { state in
            state.status.last = .init(pressure: pressure, reason: reason, date: date)
            if pressure == .critical { state.status.criticals += 1 } else { state.status.warnings += 1 }
            return state.observers.sorted { $0.key < $1.key }
        }
        for (number, tell) in observers where !tell(pressure) {
            // Returned, so that the handler is released outside of the lock.
            _ = state.withLock { $0.observers.removeValue(forKey: number) }
        }
    }

    /// Calls `handler` on memory pressure, as long as the observer lives, on the thread that detects it. The handler
    /// should free memory and return: growing threads wait for it.
    public func observe<Observer: AnyObject & Sendable>(
        by observer: Observer, _ handler: @escaping @Sendable (Observer, MemoryPressure) -> Void
    ) {
        state.withLock { state in
            state.observersSoFar += 1
            state.observers[state.observersSoFar] = { [weak observer] pressure in
                guard let observer else { return false }
                handler(observer, pressure)
                return true
            }
        }
    }

    /// Reports that a number of bytes was, or is about to be, allocated. If they may have used up the space found by
    /// the last check, it checks again and informs the observers before it returns; otherwise it costs a subtraction.
    public func grew(by bytes: Int) {
        guard sources.hasReadings else { return }
        // Limited, because other threads may report their growth before one of them has checked.
        let bytes = max(0, min(bytes, Self.mostGrowth))
        if credit.subtract(bytes, ordering: .relaxed).newValue < 0 { look(waiting: true) }
    }

    /// The sources and recent events.
    public var status: MemoryPressureStatus { state.withLock { $0.status } }

    /// Compares the usage with the limits, and informs the observers if it is too high.
    ///
    /// - Parameter waiting: True to wait for another thread that checks, and to check again only if that did not free
    ///   enough; otherwise returns at once if another thread checks.
    private func look(waiting: Bool) {
        guard sources.hasReadings else { return }
        guard gate.enter(waiting: waiting) else { return }
        defer { gate.leave() }
        if waiting && credit.load(ordering: .relaxed) >= 0 { return }
        let reading = sources.reading()
        credit.store(reading.credit, ordering: .relaxed)
        if let pressure = reading.pressure { report(pressure, because: reading.reason) }
    }
}
