public import HTTPTypes

/// What to transfer: one http or https URL, with everything that decides how.
///
/// `Range` and `If-Range` are the engine's own business (see ``BodySink/held()``): a request that carries one of them
/// fails with ``TransferError/Code/invalidRequest``, unless it is to be passed on
/// (``TransferOptions/passesEveryStatus``). Other preconditions (`If-None-Match`, `If-Modified-Since`) are
/// sent as they are, to each redirect's target too, and may end in ``TransferResult/Outcome/notModified``; those about a stored
/// body belong into ``conditions``.
public struct TransferRequest: Sendable {
    /// An absolute http or https URL. A user and password in it are taken as ``TransferOptions/credentials``, and are
    /// never sent to another origin nor shown in an error or event.
    public var url: String
    /// Default GET. Only a GET can be resumed.
    public var method: HTTPRequest.Method
    /// Further request fields. `Content-Length`, `Transfer-Encoding` and `Accept-Encoding` are the engine's own
    /// (the last one unless ``TransferOptions/acceptsContentCoding``). `Authorization` and `Cookie` are sent to the
    /// URL's own origin only (scheme, host and port), not to one that it redirects to; `Proxy-Authorization` to the proxy only.
    public var fields: HTTPFields
    /// The request's content, if it has one. A POST, PUT or PATCH without one is sent with `Content-Length: 0`. No
    /// `Content-Type` is added.
    public var body: [UInt8]?
    /// Who goes first when transfers have to wait; default ``TransferPriority/normal``.
    public var priority: TransferPriority
    /// The client on whose behalf a service transfers, by a name of the service's own: see
    /// ``TransferEngine/Configuration/maxPerClient``. Clients whose transfers wait take turns. Default: none.
    public var client: String?
    public var options: TransferOptions
    /// What is asked about a stored body of this URL; default nothing.
    public var conditions: StoredBodyConditions?

    public init(
        url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: [UInt8]? = nil,
        priority: TransferPriority = .normal, client: String? = nil, options: TransferOptions = TransferOptions()
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        self.body = body
        self.priority = priority
        self.client = client
        self.options = options
    }
}

/// Preconditions about a stored body (RFC 9110 section 13.1), and where that came from.
///
/// A validator is unique to its resource. So they are sent to that resource only, wherever redirects lead: a 304 can then mean
/// nothing else than that body, and another resource is asked for as a whole.
public struct StoredBodyConditions: Sendable {
    /// `If-None-Match`, `If-Modified-Since`.
    public var fields: HTTPFields
    /// The final URL that the stored body came from.
    public var url: String

    public init(fields: HTTPFields, url: String) {
        self.fields = fields
        self.url = url
    }
}

/// Waiting transfers start in order of priority, then of arrival.
public enum TransferPriority: Int, Sendable, Comparable, CaseIterable {
    /// Somebody may want it later: prefetching.
    case background
    case normal
    /// Somebody is looking at the place where it belongs.
    case high

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// How a transfer connects, identifies itself, and when it gives up.
public struct TransferOptions: Sendable, Hashable {
    /// A user and a password for HTTP Basic authentication (RFC 7617).
    public struct Credentials: Sendable, Hashable {
        public var user: String
        public var password: String

        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// Where to look for credentials that the request itself does not bring.
    public enum Netrc: Sendable, Hashable {
        /// In no file.
        case off
        /// `~/.netrc`
        case `default`
        /// A file in the format of `.netrc`.
        case path(String)
    }

    /// The `User-Agent` field; nil sends `imgcache` (none with ``passesEveryStatus``), an empty string sends none. One in the
    /// request's fields wins.
    public var userAgent: String?
    /// Sent at once (no round trip for a challenge), to the URL's own origin only.
    public var credentials: Credentials?
    /// Default ``Netrc/off``.
    public var netrc: Netrc = .off
    /// The proxy's URL; nil: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the environment decide; an
    /// empty string: none. An engine with an ``AddressPolicy`` uses none.
    public var proxy: String?
    /// A file of certificate authorities in PEM that replaces the system's.
    public var caFile: String?
    /// Accept any server certificate.
    public var insecure = false
    /// To resolve, connect and shake hands, for each attempt and each redirect; default 30 s.
    public var connectTimeout: Duration = .seconds(30)
    /// For one attempt as a whole; default none. ``RetryPolicy/maxTotalTime`` bounds all of them.
    public var maxTime: Duration?
    /// At most this many body bytes a second; default unlimited.
    public var rateLimit: Int64?
    /// A longer body, in bytes, is refused: up front when its length is known, else as soon as it is longer.
    public var maxFileSize: Int64?
    /// How many redirects are followed before ``TransferError/Code/tooManyRedirects``; default 20. 0: none is followed,
    /// the redirect itself is the answer (``TransferResult/Outcome/status``).
    public var maxRedirects = 20
    /// An attempt with no byte for this long has stalled; default 30 s. A response head that has begun must also be
    /// complete within this time.
    public var stallTimeout: Duration = .seconds(30)
    /// Number of retries, and pauses between them. Default: those of ``RetryPolicy``.
    public var retry = RetryPolicy()
    /// Lets the request's own `Accept-Encoding` field through. Such a transfer is not resumed. Default: `identity` is
    /// asked for, because a byte range of a compressed body is worthless without the very same compression.
    public var acceptsContentCoding = false
    /// Gives the sink the body of every status, and lets the request's own `Range` and `If-Range` through: for a proxy, to
    /// which an error is an answer like any other. A status is then never a reason to try again, and no `Accept` or
    /// `User-Agent` is added to what the request has. Default: an error
    /// status ends in ``TransferResult/Outcome/status``, and its body is nobody's.
    public var passesEveryStatus = false
    /// Reports ``TransferEvent/requestHead(_:)`` and ``TransferEvent/responseHead(_:)``.
    public var reportsHeads = false

    public init() {}
}
