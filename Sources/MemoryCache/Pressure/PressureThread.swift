import CLinux
import ConcurrencyPrimitives
import Glibc
import Logging

/// The monitor's thread: waits for signals of the kernel, and reports them.
final class PressureThread: Sendable {
    /// Descriptions of the active signals.
    let descriptions: [String]
    private let signals: [PressureSignal]
    /// The interval of checks in milliseconds; -1: none.
    private let interval: Int32
    /// An eventfd that becomes readable when the thread is to end.
    private let ending = clinux_eventfd()
    private let report: @Sendable (PressureSignal.Meaning) -> Void
    /// `nil`: not started, or ended.
    private let thread = Locked<SystemThread?>(nil)

    private init(_ sources: PressureSources, _ report: @escaping @Sendable (PressureSignal.Meaning) -> Void) {
        (signals, descriptions) = PressureSignal.all(of: sources)
        let interval = sources.configuration.checkInterval.whole(.milliseconds(1))
        self.interval = sources.hasReadings ? Int32(min(max(interval, 1), 3_600_000)) : -1
        self.report = report
    }

    deinit {
        for descriptor in signals.map(\.descriptor) + [ending] where descriptor >= 0 { close(descriptor) }
    }

    /// Returns `nil`, with a log message, if no thread or descriptor is available.
    static func start(
        _ sources: PressureSources, _ report: @escaping @Sendable (PressureSignal.Meaning) -> Void
    ) -> PressureThread? {
        let started = PressureThread(sources, report)
        guard started.ending >= 0 else {
            sources.configuration.logger.error("memory pressure: no descriptor to listen with, errno \(errno)")
            return nil
        }
        do throws(SystemThread.Failure) {
            let thread = try SystemThread { started.run() }
            started.thread.withLock { $0 = thread }
        } catch {
            sources.configuration.logger.error("memory pressure: no thread to listen on, error \(error.code)")
            return nil
        }
        return started
    }

    /// Ends the thread and waits for it. On the thread itself, it ends after this returns.
    func end() {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        var one: UInt64 = 1
        _ = write(ending, &one, MemoryLayout<UInt64>.size)
        running.join()
    }

    private func run() {
        var waiting = signals
        while true {
            var polled = waiting.map { pollfd(fd: $0.descriptor, events: Int16($0.events), revents: 0) }
            polled.append(pollfd(fd: ending, events: Int16(POLLIN), revents: 0))
            let count = poll(&polled, nfds_t(polled.count), interval)
            if polled[waiting.count].revents != 0 || (count < 0 && errno != EINTR) { return }
            if count == 0 { report(.check) }
            guard count > 0 else { continue }
            for (signal, result) in zip(waiting, polled) where Int32(result.revents) & signal.events != 0 {
                // An eventfd's count, or an inotify's events; a stall trigger has nothing to read.
                if signal.events == POLLIN { drain(signal.descriptor) }
                report(signal.meaning)
            }
            // A cgroup or a trigger that no longer exists.
            let gone = Set(polled.filter { Int32($0.revents) & (POLLERR | POLLNVAL | POLLHUP) != 0 }.map(\.fd))
            waiting.removeAll { gone.contains($0.descriptor) }
        }
    }

    private func drain(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        }
    }
}
