import Logging
import ServiceLifecycle
import UnixSignals

extension ReloadService: CustomStringConvertible {
    /// Nothing of the settings, some of which are secret: services are named in logs.
    var description: String { "ReloadService" }
}

/// Reads the settings again on SIGHUP. A mistake in them changes nothing and is told in the log.
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
                logger.notice("configuration read again")
                if !waiting.isEmpty {
                    logger.warning(
                        "changed settings that take effect after a restart only",
                        metadata: ["settings": "\(waiting.joined(separator: ", "))"])
                }
            } catch {
                logger.error("configuration not read again, the former stays: \(error)")
            }
            systemd.notify(.ready)
        }
    }
}
