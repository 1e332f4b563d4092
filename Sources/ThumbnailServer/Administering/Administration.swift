import HTTPServer
import ImageCache
import Logging
import Metrics
import NIOCore

/// What the admin side needs of the server, and where it keeps what it has seen.
struct Administration: Sendable {
    let registry = MetricsRegistry()
    let history = TrafficHistory()
    let readiness = Readiness()
    let token: AdminToken

    init(_ configuration: ServerConfiguration) throws(SettingMistake) { token = try AdminToken(configuration) }

    /// Where the server's parts count: here, and in the application's own backend if there is one.
    var metricsFactory: any MetricsFactory {
        let others = MetricsSystem.factory
        return others is NOOPMetricsHandler ? registry : MultiplexMetricsHandler(factories: [registry, others])
    }

    func sampler(of cache: ImageCache) -> TrafficSampler {
        TrafficSampler(history: history, registry: registry, cache: cache)
    }

    /// Listens where the configuration says; nil: nowhere.
    func listen(
        _ configuration: ServerConfiguration, cache: ImageCache, rules: CacheRules, logger: Logger
    ) async throws(SettingMistake) -> AdminListener? {
        guard let address = configuration.admin else { return nil }
        let routes = AdminRoutes(
            cache: cache, rules: rules, history: history, registry: registry, readiness: readiness,
            admission: AdminGuard(names: [address.host] + configuration.adminHosts) { [token] in token.value },
            origin: FileRequest(configuration.originBase).urlWithoutUserinfo, version: ServerCommand.version,
            logger: logger)
        do {
            let listener = try await AdminListener.start(routes, on: address)
            if let bound = listener.address, let ip = bound.ipAddress, let port = bound.port {
                logger.notice("administered on \(ListenAddress(host: ip, port: port))")
            }
            return listener
        } catch {
            throw SettingMistake(
                setting: "admin", value: address.description,
                problem: "cannot be listened on: \(ListenAddress.reason(error))", mayPass: true)
        }
    }
}
