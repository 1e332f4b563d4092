import ConcurrencyPrimitives
import HTTPServer
import HTTPTypes
import ImageCache
import ImageProxy
import Logging
import Transfer
import Units

// The configurations of the server's parts.
extension ServerConfiguration {
    var idField: HTTPField.Name? { requestIDHeader == "off" ? nil : HTTPField.Name(requestIDHeader) }

    var connectionSettings: ConnectionSettings {
        var settings = ConnectionSettings()
        settings.limits = RequestLimits(
            target: maxURLLength, head: Int(clamping: maxHeaderSize), fields: maxHeaderFields,
            body: Int(clamping: maxRequestBody))
        settings.contentBudget = contentLimits
        settings.headTimeout = headerTimeout
        settings.bodyTimeout = bodyTimeout
        settings.requestRate = rate(minRequestRate, bodyTimeout)
        settings.idleTimeout = idleTimeout
        settings.writeTimeout = writeTimeout
        settings.responseRate = rate(minResponseRate, writeTimeout)
        settings.trustedProxies = trusted
        settings.idField = idField
        return settings
    }

    private func rate(_ bytesPerSecond: Int64, _ timeout: Duration) -> MinimumRate {
        MinimumRate(bytesPerSecond: Int(clamping: bytesPerSecond), grace: min(.seconds(10), timeout))
    }

    private var trusted: TrustedProxies { TrustedProxies(trustedProxies.compactMap { AddressBlock($0) }) }

    var admissionLimits: Admission.Limits {
        Admission.Limits(
            running: ShareLimiter.Limits(total: maxRequests, perClient: maxRequestsPerClient),
            waiting: ShareLimiter.Limits(total: queueLength, perClient: queueLengthPerClient), retryAfter: retryAfter)
    }

    /// A quarter for one client, but at least the maximum of one request.
    private var contentLimits: ShareLimiter.Limits {
        let total = Int(clamping: maxRequestBodies)
        let share = maxRequestBodiesPerClient ?? max(maxRequestBodies / 4, maxRequestBody)
        return ShareLimiter.Limits(total: total, perClient: Int(clamping: share))
    }

    func proxyOptions(_ location: OriginLocation) -> ProxyEndpoint.Options {
        var options = ProxyEndpoint.Options(origin: location.base)
        options.name = viaName
        options.tellsClient = tellsClient
        options.tellsTiming = tellsTiming
        options.forwardsPurge = forwardsPurge
        options.announcesControlFiles = announcesControlFiles
        options.passedFields = Set(passedFields.map { $0.lowercased() })
        options.trustedProxies = trusted
        options.idField = idField
        options.transfer = originTransfer
        // A field that replaces the client's must not create variants of the response.
        options.droppedFields = Set((droppedFields + setFields.keys).map { $0.lowercased() })
        // A client's signature would conflict with the service's.
        if location.isStorage { options.droppedFields.formUnion(["authorization", "cookie"]) }
        return options
    }

    /// The rules for fields of responses to clients.
    var responseFields: ResponseFieldRules {
        var rules = ResponseFieldRules()
        rules.set = HTTPFields(setting: setResponseFields)
        rules.dropped = droppedResponseFields.compactMap { HTTPField.Name($0) }
        return rules
    }

    /// The options for requests to the origin.
    var originTransfer: TransferOptions {
        var transfer = TransferOptions()
        transfer.connectTimeout = originConnectTimeout
        transfer.stallTimeout = originTimeout
        transfer.maxFileSize = maxResponseSize
        // A client waits, so retry soon or not at all.
        transfer.retry.maxRetries = originRetries
        transfer.retry.maxUnreachableRetries = originRetries
        transfer.retry.baseDelay = .milliseconds(200)
        transfer.retry.maxDelay = .seconds(2)
        transfer.retry.retryAfterLimit = .zero
        // The client's own field is forwarded. Without one, none is added.
        transfer.userAgent = ""
        return transfer
    }

    /// Reads the files that the settings name, and all that depends on several settings, as a start does.
    ///
    /// - Throws: The first mistake. The store is not opened, and nothing is contacted.
    func check() throws(SettingError) {
        _ = try purgeToken()
        _ = try cacheConfiguration()
        let factory = OriginFactory(metadata: TransferEngine(), logger: Logger(label: "imgcache-server"))
        _ = try factory.members(of: self)
        _ = try readURLStyle()
    }

    /// A shared cache's configuration (RFC 9111 section 3.5).
    func cacheConfiguration() throws(SettingError) -> DownloadCache.Configuration {
        var cache = DownloadCache.Configuration()
        cache.rules = CacheRules(mode: .shared)
        cache.rules.alwaysVaryingNames = Set(passedFields.map { $0.lowercased() })
        cache.rules.signatures.schemes += signatureParameters.map { .init(parameter: $0) }
        cache.rules.keys = try keyRules()
        cache.store.capacity = capacity
        cache.store.discardsNewer = discardsNewer
        cache.maxVariants = maxVariants
        cache.maxDecodesPerClient = decodesPerClient
        // Each origin has its own limit of connections, and the limit of requests covers all of them.
        let connections = maxOriginConnections
        cache.maxTransfers = max(maxRequests, connections)
        cache.maxTransfersPerHost = originConnections
        cache.maxIdleConnections = connections
        // One failing URL must not reduce the connections of others.
        cache.adaptsToHosts = false
        cache.maxTransfersPerClient = originConnectionsPerClient ?? max(1, connections / 4)
        do {
            // A quarter for small files, at most the capacity for hot responses.
            let files = min(cache.hotResponses.capacity, Int(clamping: memoryCapacity / 4))
            cache.hotResponses = try MemoryCacheLimits(capacity: files)
            cache.memory = try MemoryCacheLimits(capacity: Int(clamping: memoryCapacity) - files)
        } catch {
            throw SettingError(
                setting: "memory-capacity", value: ByteSize(memoryCapacity).exactText, problem: "\(error)")
        }
        return cache
    }

    /// The total number of connections of all origins.
    var maxOriginConnections: Int { allOrigins.reduce(0) { $0 + $1.configuration.originConnections } }

    /// The settings that a reload has raised beyond the number of transfers, which is set at the start.
    ///
    /// - Parameter limit: The number of concurrent transfers since the start.
    func raised(above limit: Int, since start: ServerConfiguration) -> [String] {
        let values = [
            ("origin-connections", maxOriginConnections, start.maxOriginConnections),
            ("max-requests", maxRequests, start.maxRequests),
        ]
        return values.filter { $0.1 > max(limit, $0.2) }.map(\.0)
    }

    /// The directory's key rules, which every process on the directory applies, and the settings' rules.
    private func keyRules() throws(SettingError) -> KeyRules {
        var keys: KeyRules
        do throws(ImageCacheError) { keys = try KeyRules(directory: cacheDirectory) } catch {
            throw SettingError(setting: "cache-dir", value: cacheDirectory, problem: "\(error)")
        }
        if !ignoredParameters.isEmpty { keys.ignored.append(.init(ignoring: Set(ignoredParameters))) }
        keys.signedHosts += signedHosts.map { HostPattern($0) }
        return keys
    }
}
