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
    private typealias Waiter = UnsafeContinuation<Void, Never>

    private struct State {
        var isFinished = false
        var nextID = 0
        /// Most promises have one waiter.
        var first: (id: Int, waiter: Waiter)?
        var others: [Int: Waiter] = [:]

        mutating func newID() -> Int {
            nextID += 1
            return nextID
        }

        /// Adds a waiter, unless the waits have ended.
        mutating func add(_ waiter: Waiter, _ id: Int) -> Bool {
            if isFinished { return false }
            if first == nil { first = (id, waiter) } else { others[id] = waiter }
            return true
        }

        mutating func remove(_ id: Int) -> Waiter? {
            guard first?.id == id else { return others.removeValue(forKey: id) }
            defer { first = nil }
            return first?.waiter
        }
    }

    private let state = Locked(State())

    @usableFromInline init() {}

    /// Ends all present and future waits. Later calls have no effect.
    ///
    /// - Parameter setValue: Called before the waits end.
    @usableFromInline func finish(_ setValue: () -> Void) {
        let (first, others) = state.withLock { state in
            if !state.isFinished { setValue() }
            state.isFinished = true
            defer { (state.first, state.others) = (nil, [:]) }
            return (state.first, state.others)
        }
        first?.waiter.resume()
        for waiter in others.values { waiter.resume() }
    }

    @usableFromInline var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Returns when the waits are ended or the calling task is cancelled.
    @usableFromInline func wait() async {
        if isFinished { return }
        let id = state.withLock { $0.newID() }
        await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                let mustWait = state.withLock { !Task.isCancelled && $0.add(waiter, id) }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.remove(id) }?.resume()
        }
    }

    @usableFromInline func waitDespiteCancellation() async {
        await withUnsafeContinuation { waiter in
            let mustWait = state.withLock { $0.add(waiter, $0.newID()) }
            if !mustWait { waiter.resume() }
        }
    }
}
