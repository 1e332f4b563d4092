import HTTPSemantics
import RawStructuredFieldValues

/// One member of the `Cache-Status` field (RFC 9211): the way in which this cache handled the request.
public struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
    /// The cache's name.
    public var cache: String
    /// True if the response came from the store and nothing was forwarded (section 2.1).
    public var hit: Bool
    /// The reason for forwarding the request (section 2.2).
    public var forward: ForwardReason?
    /// The status of the origin's response (section 2.3).
    public var forwardStatus: Int?
    /// The response's remaining freshness lifetime in seconds; negative if stale (section 2.4).
    public var timeToLive: Int?
    /// True if the response was stored (section 2.5).
    public var stored: Bool
    /// True if the request was collapsed with another one instead of being forwarded itself (section 2.6).
    public var collapsed: Bool
    /// The cache key (section 2.7).
    public var key: String?
    /// Additional information, as text or a token (section 2.8).
    public var detail: String?
    /// The reason why the stored response was not used, if the origin was contacted because of it. Not part of the field.
    public var unusedReason: UnusedReason?

    public init(
        cache: String, hit: Bool = false, forward: ForwardReason? = nil, forwardStatus: Int? = nil,
        timeToLive: Int? = nil,
        stored: Bool = false, collapsed: Bool = false, key: String? = nil, detail: String? = nil
    ) {
        self.cache = cache
        self.hit = hit
        self.forward = forward
        self.forwardStatus = forwardStatus
        self.timeToLive = timeToLive
        self.stored = stored
        self.collapsed = collapsed
        self.key = key
        self.detail = detail
    }

    /// True if a stale response came from the store, also after a request to the origin that failed.
    package var isStale: Bool { StaleReason.allCases.contains { $0.detail == detail } }

    /// The member in field syntax, for example `imgcache; hit; ttl=30`.
    public var description: String {
        var text = CacheStatus.tokenOrString(cache)
        // A forwarded request is not a hit: the two exclude each other (RFC 9211 section 2.1).
        if let forward {
            text += "; fwd=\(forward.rawValue)"
            if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
            if stored { text += "; stored" }
            if collapsed { text += "; collapsed" }
        } else if hit {
            text += "; hit"
        }
        if let timeToLive { text += "; ttl=\(timeToLive)" }
        if let key { text += "; key=\(CacheStatus.string(key))" }
        if let detail { text += "; detail=\(CacheStatus.tokenOrString(detail))" }
        return text
    }

    /// Appends this cache's member to the field's value: the last member is the cache closest to the user (section 2).
    public func appended(to value: String?) -> String {
        guard let value, !value.isEmpty else { return description }
        return value + ", " + description
    }

    private static func tokenOrString(_ text: String) -> String {
        text.structuredHeadersIsValidToken ? text : string(text)
    }

    /// A structured field's string contains printable ASCII only; other characters are percent-encoded.
    private static func string(_ text: String) -> String {
        var result = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += [UInt8(ascii: "\\"), byte]
            case 0x20...0x7E: result.append(byte)
            default: PercentEncoding.append(byte, to: &result)
            }
        }
        result.append(UInt8(ascii: "\""))
        return String(decoding: result, as: UTF8.self)
    }
}

extension CacheDecision {
    /// The `Cache-Status` (RFC 9211) of the decision, with the cache's name. After forwarding a request, set
    /// ``CacheStatus/forwardStatus``, ``CacheStatus/stored`` and ``CacheStatus/collapsed`` to the outcome.
    public func cacheStatus(_ cache: String = "imgcache") -> CacheStatus {
        switch self {
        case .serve(let served), .serveAndRevalidate(let served, _):
            CacheStatus(
                cache: cache, hit: true, timeToLive: served.remainingLifetime, detail: served.staleness?.detail)
        case .validate(let validation): CacheStatus(cache: cache, forward: validation.reason)
        case .forward(let forward): CacheStatus(cache: cache, forward: forward.reason)
        case .fail(let failure): CacheStatus(cache: cache, detail: failure.detail)
        }
    }
}

extension StaleReason {
    /// The reason as a token.
    public var detail: String {
        switch self {
        case .maxStale: "max-stale"
        case .whileRevalidating: "stale-while-revalidate"
        case .policy: "stale-by-policy"
        case .originFailed: "stale-if-error"
        }
    }
}

extension CacheFailure {
    /// The reason as a token.
    public var detail: String {
        switch reason {
        case .onlyIfCached: "only-if-cached"
        case .policy: "cache-only"
        }
    }
}
