import Logging
import ServiceLifecycle
import UnixSignals

extension ReloadService: CustomStringConvertible {
    /// Contains no settings, some of which are secret, because services are named in logs.
    var description: String { "ReloadService" }
}

/// Reloads the settings on SIGHUP. An error is logged and changes nothing.
struct ReloadService: Service {
    let current: CurrentConfiguration
    let read: @Sendable () throws(SettingError) -> ServerConfiguration
    let systemd: SystemdNotifier
    let logger: Logger

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown()
        for await _ in signals {
            systemd.notify(.reloading)
            do throws(SettingError) {
                let waiting = try current.reload(try read())
                logger.notice("configuration reloaded")
                if !waiting.isEmpty {
                    logger.warning(
                        "changed settings that require a restart",
                        metadata: ["settings": "\(waiting.joined(separator: ", "))"])
                }
            } catch {
                logger.error("configuration not reloaded, the previous one remains in effect: \(error)")
            }
            systemd.notify(.reloaded)
        }
    }
}
