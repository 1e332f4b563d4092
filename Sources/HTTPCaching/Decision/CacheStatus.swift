import HTTPSemantics
import RawStructuredFieldValues

/// One member of the `Cache-Status` field (RFC 9211): how this cache handled the request.
public struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
    /// The cache's name.
    public var cache: String
    /// Whether the answer came from the store and nothing was forwarded (section 2.1).
    public var hit: Bool
    /// Why the request was forwarded (section 2.2).
    public var forward: ForwardReason?
    /// The status that the origin answered with (section 2.3).
    public var forwardStatus: Int?
    /// For how many more seconds the answer is fresh; negative when it is stale (section 2.4).
    public var timeToLive: Int?
    /// Whether the answer was stored (section 2.5).
    public var stored: Bool
    /// Whether the request waited for another one instead of being forwarded itself (section 2.6).
    public var collapsed: Bool
    /// The key it is stored under (section 2.7).
    public var key: String?
    /// Anything else, in words or a token (section 2.8).
    public var detail: String?
    /// Why what is stored was not used, where the origin was asked because of that. Not a part of the field.
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

    /// The member as the field writes it, for example `imgcache; hit; ttl=30`.
    public var description: String {
        var text = CacheStatus.tokenOrString(cache)
        // A request that was forwarded is no hit: the two exclude each other (RFC 9211 section 2.1).
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

    /// The field's value after this cache: its member comes last, being the one nearest to the user (section 2).
    public func appended(to value: String?) -> String {
        guard let value, !value.isEmpty else { return description }
        return value + ", " + description
    }

    private static func tokenOrString(_ text: String) -> String {
        text.structuredHeadersIsValidToken ? text : string(text)
    }

    /// A structured field's string holds printable ASCII only; what else there is, is percent-encoded.
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
    /// How the decision is told in `Cache-Status` (RFC 9211) under the cache's name. After a request was forwarded, set
    /// ``CacheStatus/forwardStatus``, ``CacheStatus/stored`` and ``CacheStatus/collapsed`` to what became of it.
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
    /// A token that says it.
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
    /// A token that says it.
    public var detail: String {
        switch reason {
        case .onlyIfCached: "only-if-cached"
        case .policy: "cache-only"
        }
    }
}
