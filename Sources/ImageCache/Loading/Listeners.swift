import ConcurrencyPrimitives

/// The listeners of the requests that share a fetch. A listener that is added later also receives the earlier events.
final class Listeners<Event: Sendable>: Sendable {
    typealias Listener = @Sendable (Event) -> Void

    private struct State {
        var listeners: [Listener] = []
        var past: [Event] = []
    }

    /// The number of first events that are kept for later listeners.
    private static var mostKept: Int { 256 }
    private let state = Locked(State())

    var isEmpty: Bool { state.withLock { $0.listeners.isEmpty } }

    /// Adds a listener, if there is one, and sends it the past events.
    func add(_ listener: Listener?) {
        guard let listener else { return }
        let past = state.withLock { state in
            state.listeners.append(listener)
            return state.past
        }
        for event in past { listener(event) }
    }

    func notify(_ event: Event) {
        let listeners = state.withLock { state in
            if state.past.count < Self.mostKept { state.past.append(event) }
            return state.listeners
        }
        for listener in listeners { listener(event) }
    }
}
