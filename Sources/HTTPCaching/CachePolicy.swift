/// What an application wants of the cache for one request, under the names that `URLRequest.CachePolicy` made known.
///
/// The policy is the user's own word, so it may go beyond what HTTP lets a request say: ``returnCacheDataElseLoad`` and
/// ``returnCacheDataDontLoad`` use a stored response however stale it is, as a browser does when it works offline.
public enum CachePolicy: Sendable, Hashable {
    /// RFC 9111 decides. The default.
    case useProtocolCachePolicy
    /// Nothing stored here is used; the answer comes from the network (and replaces what is stored).
    case reloadIgnoringLocalCacheData
    /// As ``reloadIgnoringLocalCacheData``, and caches on the way are told to do the same (`Cache-Control: no-cache`).
    case reloadIgnoringLocalAndRemoteCacheData
    /// A stored response is used whatever its age; without one the network is asked. On the command: `--prefer-cached`.
    case returnCacheDataElseLoad
    /// A stored response is used whatever its age; without one the request fails. On the command: `--offline`.
    case returnCacheDataDontLoad
    /// A stored response is used only after the origin has confirmed it, fresh or not. A fresh `immutable` response over
    /// HTTPS is the exception that RFC 8246 makes for reloads. On the command: `--revalidate`.
    case reloadRevalidatingCacheData
    /// RFC 9111 decides, and a response that has been stale for at most so many seconds is accepted without asking the
    /// origin (`nil`: for any time) unless the response forbids it, as the request directive `max-stale` does (RFC 9111
    /// section 5.2.1.2).
    case maxStale(seconds: Int?)
}

/// A lifetime that the application sets for a request, whatever the server says.
///
/// For this request a stored response counts as fresh for ``seconds`` after it was received or last confirmed; the
/// server's own freshness, `no-cache` and `must-revalidate` are not looked at. An entry of another ``version``, or one
/// whose age is negative because the clock went back, counts as absent. It applies to successful responses (2xx) only.
public struct FreshnessOverride: Sendable, Hashable {
    /// For how long a stored response counts as fresh, in seconds.
    public var seconds: Int
    /// What the entry must have been stored under, compared for equality. An application joins its own version into it
    /// when an update of the application shall void its entries.
    public var version: String?
    /// Whether a response is stored although it, or the request, says `no-store`. Off unless the caller says so.
    public var storesDespiteNoStore: Bool

    public init(seconds: Int, version: String? = nil, storesDespiteNoStore: Bool = false) {
        self.seconds = seconds
        self.version = version
        self.storesDespiteNoStore = storesDespiteNoStore
    }
}
