import ConcurrencyPrimitives
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import ImageCache
import ImageProxy
import Logging
import RemoteStore
import Transfer

/// Makes the origins of successive configurations, and keeps their health.
final class OriginFactory: Sendable {
    private struct Key: Hashable {
        var name: String
        var base: String

        init(name: String, _ location: OriginLocation) {
            self.name = name
            base = location.base.url?.normalized ?? ""
        }
    }

    private let healths = Locked<[Key: OriginHealth]>([:])
    /// Reaches the metadata service that provides the credentials of the machine's role.
    private let metadata: any HTTPTransport
    private let logger: Logger

    init(metadata: any HTTPTransport, logger: Logger) {
        self.metadata = metadata
        self.logger = logger
    }

    /// The patterns of all origins, each with its rules.
    ///
    /// - Throws: The first invalid setting. The active origins are then unchanged.
    func members(of configuration: ServerConfiguration) throws(SettingError) -> [OriginSet.Member] {
        var located: [(origin: ConfiguredOrigin, location: OriginLocation)] = []
        for origin in configuration.allOrigins {
            located.append(
                (origin, try Self.explained(origin) { (settings) throws(SettingError) in try OriginLocation(settings) })
            )
        }
        let endpoints = Set(located.compactMap(\.location.endpoint))
        var members: [OriginSet.Member] = []
        for (origin, location) in located {
            let connections = located.filter { $0.location.endpoint == location.endpoint }
                .reduce(0) { $0 + $1.origin.configuration.originConnections }
            members += try Self.explained(origin) { (settings) throws(SettingError) in
                try self.members(of: origin, settings, location, besides: endpoints, connections: connections)
            }
        }
        return members
    }

    /// Applies the health limits of the origins that are now active, and drops the health of all others.
    func activate(_ configuration: ServerConfiguration) {
        var used: Set<Key> = []
        for origin in configuration.allOrigins {
            guard let location = try? OriginLocation(origin.configuration) else { continue }
            used.insert(Key(name: origin.name, location))
            health(of: origin.name, at: location).update(origin.configuration.breakerLimits)
        }
        healths.withLock { [used] healths in healths = healths.filter { used.contains($0.key) } }
    }

    private func members(
        of origin: ConfiguredOrigin, _ settings: ServerConfiguration, _ location: OriginLocation,
        besides endpoints: Set<AddressPolicy.Endpoint>, connections: Int
    ) throws(SettingError) -> [OriginSet.Member] {
        var images = try settings.imageRules(location)
        images.otherOrigins = endpoints.subtracting([location.endpoint].compactMap(\.self))
        let gate = OriginGate(
            name: origin.name, base: location.base, health: health(of: origin.name, at: location),
            authorization: try authorization(settings, location), connections: connections,
            lifetimes: settings.lifetimes, folder: try folder(settings, location)
        ) { [images] in images.verdict(on: $0) }
        let proxy = settings.proxyOptions(location)
        let responseFields = settings.responseFields
        return origin.patterns.map {
            OriginSet.Member(pattern: $0, gate: gate, proxy: proxy, images: images, responseFields: responseFields)
        }
    }

    private func folder(
        _ settings: ServerConfiguration, _ location: OriginLocation
    ) throws(SettingError) -> FolderTransport? {
        guard let path = location.folder else { return nil }
        do throws(FolderTransport.Unusable) {
            return try FolderTransport(path, below: String(location.base.url?.path ?? ""))
        } catch {
            throw SettingError(setting: "origin", value: settings.origin, problem: "cannot be used: \(error.reason)")
        }
    }

    private func authorization(
        _ settings: ServerConfiguration, _ location: OriginLocation
    ) throws(SettingError) -> OriginGate.Authorization {
        var authorization = OriginGate.Authorization()
        authorization.fields = HTTPFields(setting: settings.setFields)
        guard let bucket = location.bucket else { return authorization }
        do throws(RemoteConfigurationError) {
            let credentials = try S3Credentials.found(profile: settings.s3Profile, file: settings.s3CredentialsFile)
            authorization.credentials = credentials
            authorization.signer = S3Signer(bucket, credentials, over: metadata) { Date() }
        } catch {
            throw SettingError(
                setting: settings.s3Profile == nil ? "origin" : "s3-profile",
                value: settings.s3Profile ?? settings.origin, problem: "cannot be used: \(error)")
        }
        return authorization
    }

    /// The health of an origin. A reload keeps it as long as name and URL are unchanged.
    private func health(of name: String, at location: OriginLocation) -> OriginHealth {
        healths.withLock { healths in
            let key = Key(name: name, location)
            if let health = healths[key] { return health }
            let health = OriginHealth(
                nil,
                changed: { [logger] change in
                    switch change {
                    case .opened:
                        logger.warning("an origin is left alone after failures", metadata: ["origin": "\(name)"])
                    case .openedForSome:
                        logger.warning(
                            "requests of a client to an origin are refused after its failures",
                            metadata: ["origin": "\(name)"])
                    case .closed: logger.notice("an origin is asked again", metadata: ["origin": "\(name)"])
                    }
                })
            healths[key] = health
            return health
        }
    }

    /// Makes errors name the origin's own setting, if it overrides the setting.
    private static func explained<Value>(
        _ origin: ConfiguredOrigin, _ read: (ServerConfiguration) throws(SettingError) -> Value
    ) throws(SettingError) -> Value {
        do throws(SettingError) { return try read(origin.configuration) } catch {
            throw origin.named?.error(error) ?? error
        }
    }
}

extension ServerConfiguration {
    fileprivate var lifetimes: LifetimeRules {
        func limit(_ time: Duration) -> Duration? { time == .zero ? nil : time }
        var limits = LifetimeLimits()
        limits.usual = limit(defaultLifetime)
        limits.shortest = limit(shortestLifetime)
        limits.longest = limit(longestLifetime)
        limits.stale = limit(staleLifetime)
        limits.overridesPrivate = overridesPrivate
        return LifetimeRules(
            limits, Dictionary(lifetimeRules.values.map { ($0.pattern, $0.rule) }) { first, _ in first })
    }

    /// `nil` disables the breaker.
    fileprivate var breakerLimits: OriginBreaker.Limits? {
        guard breakerFailures > 0 else { return nil }
        var limits = OriginBreaker.Limits()
        limits.failures = breakerFailures
        limits.pause = breakerPause
        limits.longestPause = max(breakerPause, limits.longestPause)
        limits.probeTime = originConnectTimeout + originTimeout
        return limits
    }
}
