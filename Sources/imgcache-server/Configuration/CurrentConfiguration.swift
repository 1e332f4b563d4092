import ConcurrencyPrimitives

/// The current configuration. SIGHUP changes it between requests.
final class CurrentConfiguration: Sendable {
    typealias Observer = @Sendable (ServerConfiguration) throws(SettingError) -> Void

    private struct State {
        var value: ServerConfiguration
        var observers: [Observer] = []
    }

    private let state: Locked<State>

    init(_ value: ServerConfiguration) { state = Locked(State(value: value)) }

    var value: ServerConfiguration { state.withLock { $0.value } }

    /// Calls the observer with every later configuration. An observer that throws rejects it.
    func observe(_ observer: @escaping Observer) {
        state.withLock { $0.observers.append(observer) }
    }

    /// Applies the settings that can be changed at run time: all of them, or none if there is an error.
    /// - Returns: The changed settings that take effect only after a restart.
    func reload(_ new: ServerConfiguration) throws(SettingError) -> [String] {
        let (former, observers) = state.withLock { ($0.value, $0.observers) }
        var value = former
        var waiting: [String] = []
        for (_, settings) in Setting.all {
            for setting in settings {
                if setting.isReloadable {
                    setting.copy(new, &value)
                } else if setting.text(new) != setting.text(former) {
                    waiting.append(setting.name)
                }
            }
        }
        value.origins = new.origins
        for (index, observer) in observers.enumerated() {
            do throws(SettingError) {
                try observer(value)
            } catch {
                for earlier in observers[..<index] { try? earlier(former) }
                throw error
            }
        }
        state.withLock { [value] in $0.value = value }
        return waiting
    }
}
