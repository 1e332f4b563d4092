/// Work that one thread does for all threads that need its result at the same time. No lock is held while the work runs.
package final class SharedWork<Value: Sendable>: Sendable {
    private final class Run: Sendable {
        let result = Locked<Value?>(nil)
        let end = CountingSemaphore(0)
    }

    private let running = Locked<Run?>(nil)

    package init() {}

    /// The result of `work`, or of the work that another thread runs at the moment. Blocks the thread.
    package func result(_ work: () -> Value) -> Value {
        let run = Run()
        if let other = running.withLock({ running in
            defer { running = running ?? run }
            return running
        }) {
            other.end.wait()
            // For the next thread that waits.
            other.end.signal()
            if let value = other.result.withLock({ $0 }) { return value }
        }
        let value = work()
        run.result.withLock { $0 = value }
        running.withLock { if $0 === run { $0 = nil } }
        run.end.signal()
        return value
    }
}
