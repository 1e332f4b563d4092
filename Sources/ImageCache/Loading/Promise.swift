import Locking

/// A value that comes once, for any number of waiters. Each of them may be cancelled alone.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
    }

    private let state = Locked(State())

    /// Gives the value to everybody who waits, and who will. The first one counts.
    func fulfill(_ value: Value) {
        let waiters = state.withLock { state in
            if state.value == nil { state.value = value }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    /// The value if it has come.
    func settled() -> Value? { state.withLock { $0.value } }

    /// The value, or `nil` when the calling task is cancelled before it comes.
    func value() async -> Value? {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard state.value == nil, !Task.isCancelled else { return false }
                    state.waiters[id] = continuation
                    return true
                }
                if !mustWait { continuation.resume(returning: state.withLock { $0.value }) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: nil)
        }
    }
}
