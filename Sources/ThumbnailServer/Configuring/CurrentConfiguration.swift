import Locking

/// The configuration as it is now. Who asks for each request sees what SIGHUP has changed.
final class CurrentConfiguration: Sendable {
    private struct State {
        var value: ServerConfiguration
        var observers: [@Sendable (ServerConfiguration) -> Void] = []
    }

    private let state: Locked<State>

    init(_ value: ServerConfiguration) { state = Locked(State(value: value)) }

    var value: ServerConfiguration { state.withLock { $0.value } }

    /// Calls the observer with every later configuration.
    func observe(_ observer: @escaping @Sendable (ServerConfiguration) -> Void) {
        state.withLock { $0.observers.append(observer) }
    }

    /// Takes over what can be changed while the server runs.
    /// - Returns: The settings that have changed and take effect only after a restart.
    func reload(_ new: ServerConfiguration) -> [String] {
        let (value, observers, waiting) = state.withLock { state in
            var waiting: [String] = []
            for (_, settings) in Setting.all {
                for setting in settings {
                    if setting.isReloadable {
                        setting.copy(new, &state.value)
                    } else if setting.text(new) != setting.text(state.value) {
                        waiting.append(setting.name)
                    }
                }
            }
            return (state.value, state.observers, waiting)
        }
        for observer in observers { observer(value) }
        return waiting
    }
}
