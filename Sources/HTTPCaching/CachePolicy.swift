/// The way in which an application uses the cache for one request. The names are as in `URLRequest.CachePolicy`.
///
/// A policy is the application's decision, so it may exceed what HTTP lets a request express. ``returnCacheDataElseLoad`` and
/// ``returnCacheDataDontLoad`` use a stored response however stale it is, like an offline browser.
public enum CachePolicy: Sendable, Hashable {
    /// Follows RFC 9111. The default.
    case useProtocolCachePolicy
    /// Uses nothing that is stored here; the response comes from the network and replaces the stored one.
    case reloadIgnoringLocalCacheData
    /// Equals ``reloadIgnoringLocalCacheData``, and tells caches on the way to do the same (`Cache-Control: no-cache`).
    case reloadIgnoringLocalAndRemoteCacheData
    /// Uses a stored response regardless of its age; without one, sends the request. On the command: `--prefer-cached`.
    case returnCacheDataElseLoad
    /// Uses a stored response regardless of its age; without one, the request fails. On the command: `--offline`.
    case returnCacheDataDontLoad
    /// Uses a stored response only after the origin has confirmed it, fresh or not. A fresh `immutable` response over
    /// HTTPS is exempt, as RFC 8246 allows for reloads. A 404 or 410 removes the stored response, unless it is pinned.
    /// On the command: `--revalidate`.
    case reloadRevalidatingCacheData
    /// Follows RFC 9111, and accepts a response that has been stale for at most this many seconds (`nil`: for any time)
    /// without asking the origin, unless the response forbids it, like the request directive `max-stale` (RFC 9111
    /// section 5.2.1.2).
    case maxStale(seconds: Int?)
}

/// A freshness lifetime that the application sets for a request, and that replaces the server's.
///
/// For this request a stored response counts as fresh for ``seconds`` after it was received or last validated. The server's own freshness,
/// `no-cache` and `must-revalidate` are ignored. An entry with another ``version`` counts as absent, and so does one with a negative age
/// because the clock was set back. The override applies only to successful responses (2xx).
public struct FreshnessOverride: Sendable, Hashable {
    /// For how long a stored response counts as fresh, in seconds.
    public var seconds: Int
    /// The version that an entry must have been stored with, compared for equality. An application includes its own
    /// version if an update is to invalidate its entries.
    public var version: String?
    /// True if a response is stored even though it, or the request, contains `no-store`. Default: false.
    public var storesDespiteNoStore: Bool

    public init(seconds: Int, version: String? = nil, storesDespiteNoStore: Bool = false) {
        self.seconds = seconds
        self.version = version
        self.storesDespiteNoStore = storesDespiteNoStore
    }
}
