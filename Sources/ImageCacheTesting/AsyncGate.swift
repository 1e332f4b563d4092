import ConcurrencyPrimitives

/// A gate that suspends tasks until it is opened, for tests that control the order of events.
public final class AsyncGate: Sendable {
    private struct State {
        var isOpen = false
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        /// Fulfilled when a task waits.
        var reached = Promise<Void>()
    }

    private let state = Locked(State())

    /// - Parameter isOpen: True if the gate is open initially.
    public init(isOpen: Bool = false) { state.withLock { $0.isOpen = isOpen } }

    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Returns when a task waits at the gate, or the calling task is cancelled.
    public func reached() async {
        let reached = state.withLock { $0.waiters.isEmpty ? $0.reached : nil }
        _ = await reached?.value()
    }

    /// Opens the gate for all present and future waiters.
    public func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Closes the gate for later callers.
    public func close() { state.withLock { $0.isOpen = false } }

    /// Returns when the gate is open, or the calling task is cancelled.
    public func wait() async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (mustWait, reached) = state.withLock { state in
                    defer { state.reached = Promise() }
                    guard !state.isOpen, !Task.isCancelled else { return (false, state.reached) }
                    state.waiters[id] = continuation
                    return (true, state.reached)
                }
                reached.fulfill(())
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}
