import ConcurrencyPrimitives

/// A gate that suspends tasks until it is opened, for tests that control the order of events.
public final class AsyncGate: Sendable {
    private struct State {
        var isOpen = false
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// - Parameter isOpen: True if the gate is open initially.
    public init(isOpen: Bool = false) { state.withLock { $0.isOpen = isOpen } }

    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Returns when a task waits at the gate.
    public func reached() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if !state.waiters.isEmpty { return true }
                state.watchers.append(continuation)
                return false
            }
            if isReached { continuation.resume() }
        }
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
                let (mustWait, watchers) = state.withLock { state in
                    guard !state.isOpen, !Task.isCancelled else { return (false, state.watchers.take()) }
                    state.waiters[id] = continuation
                    return (true, state.watchers.take())
                }
                for watcher in watchers { watcher.resume() }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}

extension Array {
    /// The elements, which are gone from the array afterwards.
    fileprivate mutating func take() -> [Element] {
        defer { self = [] }
        return self
    }
}
