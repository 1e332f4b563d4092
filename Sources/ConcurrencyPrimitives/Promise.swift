/// A value that is set once, for any number of waiters. Each of them may be cancelled separately.
///
/// Inlinable: what other modules make of it is compiled for their own types.
package final class Promise<Value: Sendable>: Sendable {
    @usableFromInline struct State {
        @usableFromInline var value: Value?
        @usableFromInline var nextID = 0
        @usableFromInline var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        /// Waiters that cannot be cancelled.
        @usableFromInline var others: [CheckedContinuation<Value, Never>] = []

        @inlinable init() {}
    }

    @usableFromInline let state = Locked(State())

    @inlinable package init() {}

    /// Sets the value for all present and future waiters. Later calls have no effect.
    @inlinable
    package func fulfill(_ value: Value) {
        let (waiters, others) = state.withLock { state in
            if state.value == nil { state.value = value }
            defer { (state.waiters, state.others) = ([:], []) }
            return (Array(state.waiters.values), state.others)
        }
        for waiter in waiters { waiter.resume(returning: value) }
        for waiter in others { waiter.resume(returning: value) }
    }

    /// The value, if it is set.
    @inlinable
    package func settled() -> Value? { state.withLock { $0.value } }

    /// The value, or `nil` if the calling task is cancelled before it is set.
    @inlinable
    package func value() async -> Value? {
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

    /// The value, even if the calling task is cancelled meanwhile.
    @inlinable
    package func valueDespiteCancellation() async -> Value {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state in
                if state.value == nil { state.others.append(continuation) }
                return state.value
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}
