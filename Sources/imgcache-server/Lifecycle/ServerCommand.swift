import ConcurrencyPrimitives
import FoundationEssentials
import Glibc
import HTTPServer
import HTTPTypes
import ImageCache
import ImageCodec
import Logging
import ProcessLimits
import ProgramVersion
import ServiceLifecycle
import Transfer
import UnixSignals

/// The program `imgcache-server`: reads its settings, and serves until shutdown.
///
/// Exit codes: 0 after a shutdown; 1 after a failure, which may be temporary, such as an address in use or an unusable store; 2 for an
/// invalid setting, which must be corrected; 6 for a store that a newer version made.
enum ServerCommand {
    static let version = ProgramVersion.number

    /// - Parameter isolation: The isolation of decoders, unless the settings disable it. nil if there is none.
    static func run(_ arguments: [String], isolation: DecoderIsolation? = nil) async -> Int32 {
        // SIGHUP is ignored until it is handled, because a reload must not end a server that is starting.
        signal(SIGHUP, SIG_IGN)
        do throws(SettingError) {
            let line = try CommandLineOptions(arguments)
            switch line.action {
            case .help:
                print(Setting.help, terminator: "")
                return 0
            case .version(let isVerbose):
                if isVerbose { ImageCodecLibraries.prepare() }
                print(
                    isVerbose
                        ? ProgramVersion.report(of: "imgcache-server", libcurl: TransferEngine.libraryReport) : version)
                return 0
            case .check, .askReadiness, .printConfiguration, .serve: break
            }
            let environment = ProcessInfo.processInfo.environment
            let file = line.file ?? environment["IMGCACHE_CONFIG"]
            let read = { @Sendable () throws(SettingError) in
                try SettingSources(options: line.options, environment: environment, file: file).configuration()
            }
            let configuration = try read()
            if line.action == .check {
                try configuration.check()
                return 0
            }
            if line.action == .askReadiness { return await isReady(configuration) ? 0 : 1 }
            if line.action == .printConfiguration {
                print(configuration.printed)
                return 0
            }
            return try await serve(
                configuration, SystemdNotifier(socket: environment["NOTIFY_SOCKET"]), isolation, rereading: read)
        } catch {
            say("imgcache-server: \(error)\n")
            if error.isOfNewerStore { return 6 }
            return error.isTransient ? 1 : 2
        }
    }

    private static func serve(
        _ configuration: ServerConfiguration, _ systemd: SystemdNotifier, _ isolation: DecoderIsolation?,
        rereading read: @escaping @Sendable () throws(SettingError) -> ServerConfiguration
    ) async throws(SettingError) -> Int32 {
        let messages = Locked(configuration.messages)
        let writer = MessageLog.writer(messages)
        LoggingSystem.bootstrap { MessageLog(label: $0, options: messages, writer) }
        let result: Result<Int32, SettingError>
        do throws(SettingError) {
            result = .success(try await serve(configuration, systemd, isolation, messages, rereading: read))
        } catch {
            result = .failure(error)
        }
        await writer.end(by: .now + .seconds(1))
        return try result.get()
    }

    private static func serve(
        _ configuration: ServerConfiguration, _ systemd: SystemdNotifier, _ isolation: DecoderIsolation?,
        _ messages: Locked<MessageLog.Options>,
        rereading read: @escaping @Sendable () throws(SettingError) -> ServerConfiguration
    ) async throws(SettingError) -> Int32 {
        let logger = Logger(label: "imgcache-server")
        let current = CurrentConfiguration(configuration)
        current.observe { new in messages.withLock { $0 = new.messages } }
        DescriptorLimit.raise()
        await DescriptorLimit.openTimers()
        let server = try ImageProxyService(current, systemd: systemd, isolation: isolation, logger: logger)
        let reloading = ReloadService(current: current, read: read, systemd: systemd, logger: logger)
        let group = ServiceGroupConfiguration(
            services: [
                .init(service: server),
                .init(service: reloading),
            ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        do {
            try await ServiceGroup(configuration: group).run()
            return 0
        } catch {
            if let error = error as? SettingError { throw error }
            logger.error("stopped: \(error)")
            return 1
        }
    }

    /// Asks the admin listener of the running service, for health checks of containers; prints the reason why it is not ready.
    private static func isReady(_ configuration: ServerConfiguration) async -> Bool {
        guard var address = configuration.admin else {
            say("imgcache-server: the service has no admin listener to ask\n")
            return false
        }
        if address.host == "0.0.0.0" { address = ListenAddress(host: "127.0.0.1", port: address.port) }
        if address.host == "::" { address = ListenAddress(host: "::1", port: address.port) }
        let engine = TransferEngine()
        var problem: String?
        do {
            var request = TransferRequest(url: "http://\(address)/readyz")
            // A proxy of the environment is for origins: it cannot reach this machine's own addresses.
            request.options.proxy = ""
            let status = try await engine.quickStatus(of: request)
            if status != .ok { problem = "the service is not ready: status \(status.code)" }
        } catch {
            problem = "the service does not answer: \(error)"
        }
        await engine.shutDown()
        if let problem { say("imgcache-server: \(problem)\n") }
        return problem == nil
    }

    private static func say(_ text: String) {
        _ = text.withCString { write(2, $0, strlen($0)) }
    }
}
