import ConcurrencyPrimitives

/// A value that changes until its end, with streams of its newest state.
final class LatestValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var hasEnded = false
        var nextID = 0
        var watchers: [Int: AsyncStream<Value>.Continuation] = [:]
    }

    private let state: Locked<State>

    init(_ value: Value) { state = Locked(State(value: value)) }

    var value: Value { state.withLock { $0.value } }

    /// Changes the value and sends it to the watchers. A slow watcher receives only the newest value.
    func update(_ change: (inout Value) -> Void) {
        state.withLock { state in
            change(&state.value)
            // Under the lock, so that the last value is the newest.
            for watcher in state.watchers.values { watcher.yield(state.value) }
        }
    }

    /// Ends all streams. A stream that begins later yields the current value and ends.
    func end() {
        let watchers = state.withLock { state in
            state.hasEnded = true
            defer { state.watchers = [:] }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }

    /// A stream of the current value and each later one.
    func watch() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state -> Int? in
            continuation.yield(state.value)
            guard !state.hasEnded else { return nil }
            state.nextID += 1
            state.watchers[state.nextID] = continuation
            return state.nextID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.watchers.removeValue(forKey: id) }
        }
        return stream
    }
}
