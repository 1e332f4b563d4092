import ConcurrencyPrimitives
import Glibc
import Logging
import Synchronization

/// Tells memory caches when memory is short, before the kernel kills the process.
///
/// It listens to what the kernel has to say, on one thread of its own that waits and costs nothing meanwhile:
///
/// - **Stalls**: the pressure stall information (PSI, Linux 4.20) of the process's own cgroup (`memory.pressure`), or where
///   it has none, the machine's (`/proc/pressure/memory`). Triggers say when tasks have waited for memory.
/// - **Limits** of the process's cgroup and of those above it: version 2 (`memory.max`, `memory.high`, `memory.events`)
///   and version 1 (thresholds of usage and `memory.pressure_level` by eventfd). Page cache does not count as used: the
///   kernel takes that by itself. A limit is hit within milliseconds by whoever fills memory fast, so the monitor is also
///   told of growth (``grew(by:)``; a ``MemoryCache`` does that) and looks, on the thread that grows, before the room
///   that it saw last can be used up.
/// - **Available memory** (`MemAvailable` in `/proc/meminfo`), where neither of the above is to be had, which is said in
///   the log.
/// - **Calls**: ``report(_:)``.
///
/// ```swift
/// let monitor = MemoryPressureMonitor()
/// monitor.start()
/// let cache = MemoryCache<ImageKey, DecodedImage>(monitor: monitor)
/// ```
public final class MemoryPressureMonitor: Sendable {
    private struct State {
        /// By the order in which they came; false: the observer is no more.
        var observers: [Int: @Sendable (MemoryPressure) -> Bool] = [:]
        var observersSoFar = 0
        var status = MemoryPressureStatus()
        var thread: PressureThread?
    }

    let configuration: Configuration
    let files: SystemFiles
    let sources: PressureSources
    private let state = Locked(State())
    /// Bytes that may still be allocated before it is time to look.
    private let credit: Atomic<Int>
    /// One thread looks and makes room; whoever wants to grow then waits until it has.
    private let gate = ReentrancyGuard()

    /// Finds out what there is to listen to. The monitor listens from ``start()`` on.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration, files: SystemFiles())
    }

    init(configuration: Configuration, files: SystemFiles) {
        self.configuration = configuration
        self.files = files
        sources = PressureSources(files: files, configuration: configuration)
        credit = Atomic(sources.hasReadings ? 0 : .max / 2)
        state.withLock { $0.status.sources = sources.descriptions }
    }

    deinit { stop() }

    /// Starts listening. A second call does nothing.
    public func start() {
        state.withLock { state in
            guard state.thread == nil else { return }
            let watch = PressureWatch(sources, configuration: configuration)
            state.status.sources = sources.descriptions + watch.descriptions
            state.thread = PressureThread.start(
                watch, logger: configuration.logger,
                onEvent: { [weak self] event in
                    switch event {
                    case .pressure(let pressure, let reason): self?.report(pressure, because: reason)
                    case .look: self?.look(waiting: false)
                    }
                })
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

    /// Tells every observer, on this thread, before it returns.
    public func report(_ pressure: MemoryPressure) {
        report(pressure, because: "reported by a call")
    }

    private func report(_ pressure: MemoryPressure, because reason: String) {
        configuration.logger.info("memory pressure: \(pressure)", metadata: ["reason": "\(reason)"])
        let date = configuration.clock.date()
        let observers = state.withLock { state in
            state.status.last = .init(pressure: pressure, reason: reason, date: date)
            if pressure == .critical { state.status.criticals += 1 } else { state.status.warnings += 1 }
            return state.observers.sorted { $0.key < $1.key }
        }
        for (number, tell) in observers where !tell(pressure) {
            state.withLock { state in _ = state.observers.removeValue(forKey: number) }
        }
    }

    /// Calls `handler` whenever memory is short, as long as the observer lives, on whichever thread finds that out. It
    /// should free what it can, and return: threads that want to grow wait for it.
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

    /// Says that so many bytes were allocated, or are about to be. When they may have used up the room under a limit that
    /// was there at the last look, it looks again and tells the observers before it returns; else it costs a subtraction.
    public func grew(by bytes: Int) {
        if credit.subtract(bytes, ordering: .relaxed).newValue < 0 { look(waiting: true) }
    }

    /// What it listens to, and what it heard.
    public var status: MemoryPressureStatus { state.withLock { $0.status } }

    /// Compares what is in use with the limits, and tells the observers when it is too much.
    ///
    /// - Parameter waiting: whether to wait for another thread that does so, and then to look only if that did not give
    ///   enough room; else there is nothing to do meanwhile.
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
