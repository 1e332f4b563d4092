import ConcurrencyPrimitives
import Fleet
import HTTPServer
import HTTPTypes
import ImageCache
import ImageProxy
import ImageProxyAdmin
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Transfer
import Units

/// The service: a caching proxy for its origins that also renders images from their files.
///
/// Runs until a graceful shutdown. It then accepts no more connections, lets running requests finish within the grace period, and closes
/// the cache, which keeps the received bytes of unfinished transfers.
struct ImageProxyService: Service {
    let configuration: ServerConfiguration
    let systemd: SystemdNotifier
    let logger: Logger
    private let current: CurrentConfiguration
    private let parts: ServerParts

    /// Opens the cache, but does not listen yet.
    /// - Throws: `SettingError` if a file or folder in the settings is not usable.
    init(
        _ current: CurrentConfiguration, systemd: SystemdNotifier, isolation: DecoderIsolation? = nil, logger: Logger
    ) throws(SettingError) {
        self.current = current
        configuration = current.value
        self.systemd = systemd
        self.logger = logger
        let parts = try ServerParts(configuration, isolation: isolation, logger: logger)
        current.observe { [configuration] new throws(SettingError) in
            let origins = OriginSet(
                try parts.factory.members(of: new), publicHosts: AllowedHosts(new.publicHosts),
                urlStyle: try new.readURLStyle(), cache: parts.cache,
                renders: parts.administration.renders)
            let token = try new.purgeToken()
            parts.adminToken.withLock { $0 = token }
            parts.factory.activate(new)
            let former = parts.origins.withLock { current in
                let former = current
                current = origins
                return former
            }
            former.retire()
            parts.listener.admission.update(new.admissionLimits)
            let raised = new.raised(above: parts.maxTransfers, since: configuration)
            if !raised.isEmpty {
                logger.warning(
                    "more concurrent transfers than at the start require a restart",
                    metadata: ["settings": "\(raised.joined(separator: ", "))", "transfers": "\(parts.maxTransfers)"])
            }
        }
        self.parts = parts
    }

    func run() async throws {
        let admin = try await administer()
        let sampling = Task.detached { [parts] in await parts.administration.sampleTraffic(of: parts.cache) }
        let tracing = Task.detached { [parts] () -> Void in await parts.spans?.run() }
        let result: Result<ContinuousClock.Instant, any Error>
        do { result = .success(try await serve()) } catch { result = .failure(error) }
        sampling.cancel()
        // A collector or a reader of the log that hangs must not delay the end beyond the grace period, and a second for each.
        let end = (try? result.get()) ?? .now
        await parts.spans?.end(tracing, by: max(.now + .seconds(1), end))
        await parts.metadata.shutDown()
        await parts.log.end(by: max(.now + .seconds(1), end))
        await admin?.stop()
        _ = try result.get()
    }

    /// Starts the configured admin listener, or returns nil if there is none.
    private func administer() async throws(SettingError) -> AdminListener? {
        guard let address = configuration.admin else { return nil }
        var options = Administration.Options(version: ServerCommand.version) { [origins = parts.origins] in
            origins.withLock { $0 }
        }
        options.hosts = configuration.adminHosts
        options.rules = parts.rules
        options.settings = { [current] in current.value.printed }
        options.token = { [token = parts.adminToken] in token.withLock { $0 } }
        do {
            return try await parts.administration.listen(on: address, options, cache: parts.cache, logger: logger)
        } catch {
            throw SettingError(
                setting: "admin", value: address.description,
                problem: "cannot listen: \(ListenAddress.reason(error))", isTransient: true)
        }
    }

    /// Serves clients until shutdown.
    ///
    /// - Returns: The end of the grace period.
    private func serve() async throws -> ContinuousClock.Instant {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.threads)
        let connections = parts.listener.connections
        parts.administration.beforeReadingMetrics { [metrics = parts.metrics, admission = parts.listener.admission] in
            metrics.record(connections: connections.count, requests: admission.counts)
        }
        let data: any Channel
        do {
            data = try await ListeningSocket.start(
                on: configuration.listen, group: group, listener: parts.listener)
        } catch {
            await end(group)
            throw SettingError(
                setting: "listen", value: configuration.listen.description,
                problem: "cannot listen: \(ListenAddress.reason(error))", isTransient: true)
        }
        if let address = data.localAddress, let ip = address.ipAddress, let port = address.port {
            await logStart(listeningOn: ListenAddress(host: ip, port: port))
        }
        parts.administration.readiness.start()
        systemd.notify(.ready)
        try? await gracefulShutdown()
        parts.administration.readiness.stop()
        systemd.notify(.stopping)
        await ListeningSocket.stop(data)
        try? await data.closeFuture.get()
        logger.notice("stopping", metadata: ["connections": "\(connections.count)"])
        let end = ContinuousClock.now + configuration.gracePeriod
        await parts.listener.drain(within: configuration.gracePeriod)
        // Uploads of the last responses have the remaining time, and at least a second.
        await self.end(group, uploadingFor: max(.seconds(1), end - .now))
        logger.notice("stopped")
        return end
    }

    /// One line with what an operator wants to know first.
    private func logStart(listeningOn address: ListenAddress) async {
        let capacity = try? await parts.cache.statistics().capacity
        logger.notice(
            "imgcache-server \(ServerCommand.version) listening on \(address)",
            metadata: [
                "admin": "\(configuration.admin?.description ?? "off")", "store": "\(parts.cache.directory)",
                "capacity": "\(capacity.map { "\(ByteSize($0))" } ?? "unknown")",
                "origins": "\(parts.origins.withLock { $0 }.gates.map(\.shownURL).joined(separator: " "))",
                "isolate-decoders": "\(configuration.decoderIsolation.rawValue)",
            ])
    }

    private func end(_ group: MultiThreadedEventLoopGroup, uploadingFor time: Duration = .zero) async {
        try? await group.shutdownGracefully()
        await parts.cache.close(uploadingFor: time)
    }
}

extension ImageProxyService: CustomStringConvertible {
    /// Contains no settings, some of which are secret, because services are named in logs.
    var description: String { "ImageProxyService" }
}

/// The parts of a server.
struct ServerParts: Sendable {
    let cache: DownloadCache
    /// The number of concurrent transfers with all origins.
    let maxTransfers: Int
    /// The caching rules.
    let rules: CacheRules
    let administration = Administration()
    /// The current token for purging.
    let adminToken: Locked<String?>
    let log: AccessLog
    let metrics: ServerMetrics
    /// `nil` if requests are not traced.
    let spans: SpanExporter?
    let listener: Listener
    /// The current origins.
    let origins: Locked<OriginSet>
    let factory: OriginFactory
    /// Reaches the AWS metadata service for the machine's role, if an origin is a bucket, and the collector of traces.
    let metadata = TransferEngine()

    init(
        _ configuration: ServerConfiguration, isolation: DecoderIsolation?, logger: Logger
    ) throws(SettingError) {
        do throws(AccessLog.OpeningError) { log = try AccessLog(configuration.accessLog) } catch {
            throw SettingError(
                setting: "access-log", value: error.path, problem: "cannot be opened: \(error.reason)")
        }
        adminToken = Locked(try configuration.purgeToken())
        metrics = ServerMetrics(factory: administration.metricsFactory)
        spans = SpanExporter(configuration, over: metadata, metrics, logger)
        var cacheConfiguration = try configuration.cacheConfiguration()
        rules = cacheConfiguration.rules
        cacheConfiguration.logger = logger
        cacheConfiguration.remote = configuration.remoteStore(logger)
        let shares = configuration.descriptorShares(cacheConfiguration.remote, logger)
        cacheConfiguration.limit(to: shares)
        maxTransfers = cacheConfiguration.maxTransfers
        if configuration.decoderIsolation != .off, var isolation {
            isolation.isOptional = configuration.decoderIsolation == .optional
            cacheConfiguration.decoderIsolation = isolation
        }
        factory = OriginFactory(metadata: metadata, logger: logger)
        let members = try factory.members(of: configuration)
        // For transfers without a gate, such as downloads of pins, which may begin as soon as the cache is open.
        let first = members.map(\.images)
        let present = Locked<Locked<OriginSet>?>(nil)
        cacheConfiguration.addressPolicy = .judging { endpoint in
            present.withLock { $0 }?.withLock { $0 }.verdict(on: endpoint) ?? OriginSet.verdict(of: first, on: endpoint)
        }
        do {
            cache = try DownloadCache(directory: configuration.cacheDirectory, configuration: cacheConfiguration)
        } catch {
            var failure = SettingError(
                setting: "cache-dir", value: configuration.cacheDirectory, problem: "cannot be used: \(error.message)",
                isTransient: true)
            if error.code == .store(.newer) {
                failure.isOfNewerStore = true
                failure.problem += ", or empty it with --discard-newer"
            }
            throw failure
        }
        cache.startDecoderIsolation()
        factory.activate(configuration)
        let origins = Locked(
            OriginSet(
                members, publicHosts: AllowedHosts(configuration.publicHosts),
                urlStyle: try configuration.readURLStyle(), cache: cache,
                renders: administration.renders))
        self.origins = origins
        present.withLock { $0 = origins }
        listener = Listener(
            settings: configuration.connectionSettings,
            handler: HealthPaths(
                before: Router(origins), health: configuration.healthPath, ready: configuration.readyPath,
                administration,
                cache: cache),
            observer: ServerObserver(metrics: metrics, ranking: administration.ranking, log: log, spans: spans),
            admission: Admission(configuration.admissionLimits),
            connections: ConnectionRegistry(
                .init(total: shares.granted.connections, perClient: configuration.maxConnectionsPerClient)))
    }
}
