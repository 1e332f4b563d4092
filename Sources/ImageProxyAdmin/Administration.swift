package import HTTPServer
package import ImageCache
package import ImageProxy
package import Logging
package import Metrics
import NIOCore

/// The state behind the admin listener: metrics, their history, readiness, and the listener itself.
package struct Administration: Sendable {
    /// The facts about the service that the admin listener displays or uses to check requests.
    package struct Options: Sendable {
        /// Host names that the listener accepts in addition to its own, `localhost` and addresses.
        package var hosts: [String] = []
        /// The caching rules.
        package var rules = CacheRules()
        /// The current origins.
        package var origins: @Sendable () -> OriginSet
        /// The program's version.
        package var version: String
        /// The settings in force as JSON, without secrets.
        package var settings: @Sendable () -> String = { "{}" }
        /// The current token for purging, or nil if purging is disabled.
        package var token: @Sendable () -> String? = { nil }

        package init(version: String, origins: @escaping @Sendable () -> OriginSet) {
            self.origins = origins
            self.version = version
        }
    }

    let registry = MetricsRegistry()
    let history = TrafficHistory()
    /// Records each request.
    package let ranking = RequestRanking()
    package let readiness = Readiness()
    /// Counts rendered images.
    package let renders = RenderCounts()

    package init() {}

    /// The factory of the server's metrics. Metrics are kept here, and in the application's own backend if there is one.
    package var metricsFactory: any MetricsFactory {
        let others = MetricsSystem.factory
        return others is NOOPMetricsHandler ? registry : MultiplexMetricsHandler(factories: [registry, others])
    }

    /// Registers a closure that sets gauges before the metrics are read.
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
            cache: cache, rules: options.rules, history: history, registry: registry, ranking: ranking,
            readiness: readiness, admission: AdminGuard(names: [address.host] + options.hosts, token: options.token),
            origins: options.origins, settings: options.settings, renders: renders, version: options.version,
            logger: logger)
        let listener = try await AdminListener.start(routes, on: address)
        if let bound = listener.address, let ip = bound.ipAddress, let port = bound.port {
            logger.notice("administered on \(ListenAddress(host: ip, port: port))")
        }
        return listener
    }
}
