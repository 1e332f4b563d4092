import ConcurrencyPrimitives

/// The tasks that handle requests. The event loops must outlive them, because responses are passed to them.
final class RunningResponses: Sendable {
    private struct State {
        var count = 0
        var whenNone: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    func begin() { state.withLock { $0.count += 1 } }

    func end() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.count -= 1
            guard state.count == 0 else { return nil }
            defer { state.whenNone = nil }
            return state.whenNone
        }
        waiting?.resume()
    }

    /// Waits until no response is running.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isNone = state.withLock { state in
                if state.count > 0 { state.whenNone = continuation }
                return state.count == 0
            }
            if isNone { continuation.resume() }
        }
    }
}
