import CLinux
import ConcurrencyPrimitives
import Glibc
import Logging

/// The monitor's thread: waits for events of the kernel, and reports them.
final class PressureThread: Sendable {
    private let watch: PressureWatch
    private let onEvent: @Sendable (PressureWatch.Event) -> Void
    /// An eventfd that becomes readable when the thread is to end.
    private let ending: Int32
    /// nil: not started, or ended.
    private let thread = Locked<SystemThread?>(nil)

    private init(_ watch: PressureWatch, ending: Int32, onEvent: @escaping @Sendable (PressureWatch.Event) -> Void) {
        self.watch = watch
        self.onEvent = onEvent
        self.ending = ending
    }

    deinit { close(ending) }

    /// Returns nil, with a log message, if no thread or descriptor is available.
    static func start(
        _ watch: PressureWatch, logger: Logger, onEvent: @escaping @Sendable (PressureWatch.Event) -> Void
    ) -> PressureThread? {
        let ending = clinux_eventfd()
        guard ending >= 0 else {
            logger.error("memory pressure: no descriptor to listen with, errno \(errno)")
            return nil
        }
        let started = PressureThread(watch, ending: ending, onEvent: onEvent)
        do throws(SystemThread.Failure) {
            let thread = try SystemThread { started.run() }
            started.thread.withLock { $0 = thread }
        } catch {
            logger.error("memory pressure: no thread to listen on, error \(error.code)")
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
        var waiting = watch.items
        while true {
            var polled = waiting.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
            polled.append(pollfd(fd: ending, events: Int16(POLLIN), revents: 0))
            let count = poll(&polled, nfds_t(polled.count), watch.timeout)
            if polled[waiting.count].revents != 0 { return }
            if count < 0 && errno != EINTR { return }
            if count == 0 { onEvent(.look) }
            var gone: Set<Int32> = []
            for (item, result) in zip(waiting, polled) where count > 0 && result.revents != 0 {
                // The cgroup was removed, or the trigger was.
                if Int32(result.revents) & (POLLERR | POLLNVAL | POLLHUP) != 0 { gone.insert(item.descriptor) }
                if result.revents & item.events == 0 { continue }
                // An eventfd's count, or an inotify's events; a trigger has nothing to read.
                if item.events == Int16(POLLIN) { drain(item.descriptor) }
                onEvent(item.event)
            }
            waiting.removeAll { gone.contains($0.descriptor) }
        }
    }

    private func drain(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        }
    }
}
