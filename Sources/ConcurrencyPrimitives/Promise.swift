/// A value that is set once, for any number of waiters. Each of them may be cancelled separately.
///
/// `@unchecked Sendable`: the value is written once, in ``PromiseWaiters/finish(_:)``, and read only after it.
package final class Promise<Value: Sendable>: @unchecked Sendable {
    @usableFromInline var storage: Value?
    @usableFromInline let waiters = PromiseWaiters()

    @inlinable package init() {}

    /// Sets the value for all present and future waiters. Later calls have no effect.
    @inlinable
    package func fulfill(_ value: Value) {
        waiters.finish { storage = value }
    }

    /// The value, if it is set.
    @inlinable
    package func settled() -> Value? { waiters.isFinished ? storage : nil }

    /// The value, or `nil` if the calling task is cancelled before it is set.
    @inlinable
    package func value() async -> Value? {
        await waiters.wait()
        return settled()
    }

    /// The value, even if the calling task is cancelled meanwhile.
    @inlinable
    package func valueDespiteCancellation() async -> Value {
        await waiters.waitDespiteCancellation()
        guard let storage else { preconditionFailure("the promise is finished without a value") }
        return storage
    }
}

/// The waiters of a ``Promise``, which are the same for values of all types.
@usableFromInline final class PromiseWaiters: Sendable {
    private struct State {
        var isFinished = false
        var nextID = 0
        var cancellable: [Int: UnsafeContinuation<Void, Never>] = [:]
        var others: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    @usableFromInline init() {}

    /// Ends all present and future waits. Later calls have no effect.
    ///
    /// - Parameter setValue: Called before the waits end.
    @usableFromInline func finish(_ setValue: () -> Void) {
        let (waiters, others) = state.withLock { state in
            if !state.isFinished { setValue() }
            state.isFinished = true
            defer { (state.cancellable, state.others) = ([:], []) }
            return (state.cancellable, state.others)
        }
        for waiter in waiters.values { waiter.resume() }
        for waiter in others { waiter.resume() }
    }

    @usableFromInline var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Returns when the waits are ended or the calling task is cancelled.
    @usableFromInline func wait() async {
        if isFinished { return }
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard !state.isFinished, !Task.isCancelled else { return false }
                    state.cancellable[id] = continuation
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.cancellable.removeValue(forKey: id) }?.resume()
        }
    }

    @usableFromInline func waitDespiteCancellation() async {
        await withUnsafeContinuation { continuation in
            let mustWait = state.withLock { state in
                if !state.isFinished { state.others.append(continuation) }
                return !state.isFinished
            }
            if !mustWait { continuation.resume() }
        }
    }
}
