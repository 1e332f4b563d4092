package import HTTPServer
package import ImageCache
package import Logging
package import Metrics
import NIOCore

/// The state that the admin listener shows: metrics, their history, readiness, and the listener itself.
package struct Administration: Sendable {
    /// The facts about the service that requests to the admin listener are judged by, or that it shows.
    package struct Options: Sendable {
        /// Names that the listener answers to beside its own, `localhost` and addresses.
        package var hosts: [String] = []
        /// The rules that the cache goes by.
        package var rules = CacheRules()
        /// The origin's URL without a slash at its end and without credentials.
        package var origin: String
        /// The program's version.
        package var version: String
        /// The token that purging needs, as it is configured now; nil: nobody may purge.
        package var token: @Sendable () -> String? = { nil }

        package init(origin: String, version: String) {
            self.origin = origin
            self.version = version
        }
    }

    let registry = MetricsRegistry()
    let history = TrafficHistory()
    package let readiness = Readiness()

    package init() {}

    /// The factory of the server's metrics: they are kept here, and in the application's own backend if there is one.
    package var metricsFactory: any MetricsFactory {
        let others = MetricsSystem.factory
        return others is NOOPMetricsHandler ? registry : MultiplexMetricsHandler(factories: [registry, others])
    }

    /// Has gauges set each time before the metrics are looked at.
    package func beforeReadingMetrics(_ read: @escaping @Sendable () -> Void) { registry.beforeReading(read) }

    /// Records the traffic of each second until the task is cancelled.
    package func sampleTraffic(of cache: DownloadCache) async {
        await TrafficSampler(history: history, registry: registry, cache: cache).run()
    }

    /// Starts the admin listener.
    package func listen(
        on address: ListenAddress, _ options: Options, cache: DownloadCache, logger: Logger
    ) async throws -> AdminListener {
        let routes = AdminRoutes(
            cache: cache, rules: options.rules, history: history, registry: registry, readiness: readiness,
            admission: AdminGuard(names: [address.host] + options.hosts, token: options.token),
            origin: options.origin, version: options.version, logger: logger)
        let listener = try await AdminListener.start(routes, on: address)
        if let bound = listener.address, let ip = bound.ipAddress, let port = bound.port {
            logger.notice("administered on \(ListenAddress(host: ip, port: port))")
        }
        return listener
    }
}
