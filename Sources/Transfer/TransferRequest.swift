public import HTTPTypes
import TextIdentity

/// A request for one http or https URL, with its transfer options.
///
/// The engine sets `Range` and `If-Range` (see ``BodySink/held()``). A request that contains one of them fails with
/// ``TransferError/Code/invalidRequest``, unless it is forwarded (``TransferOptions/forwardsErrorResponses``). Other preconditions
/// (`If-None-Match`, `If-Modified-Since`) are sent unchanged, also to the targets of redirects, and may lead to
/// ``TransferResult/Outcome/notModified``. Use ``conditions`` for preconditions about a stored body.
public struct TransferRequest: Sendable {
    /// An absolute http or https URL. Its user and password are used as ``TransferOptions/credentials``. They never appear in requests to another
    /// origin, in errors or in events.
    public var url: String
    /// The method; default GET. Only a GET can be resumed.
    public var method: HTTPRequest.Method
    /// Further request fields. The engine sets `Content-Length`, `Transfer-Encoding` and `Accept-Encoding` (the last one unless
    /// ``TransferOptions/acceptsContentCoding``). `Authorization`, `Cookie` and `Host` are sent only to the URL's own origin (scheme, host and
    /// port), not to one that it redirects to, and `Proxy-Authorization` only to the proxy.
    public var fields: HTTPFields
    /// The request's content, if any. A POST, PUT or PATCH without content is sent with `Content-Length: 0`. No
    /// `Content-Type` is added.
    public var body: [UInt8]?
    /// The order among waiting transfers; default ``TransferPriority/normal``.
    public var priority: TransferPriority
    /// The client for which a service runs the transfer, as named by the service: see ``TransferEngine/Configuration/maxPerClient``. Waiting
    /// transfers of several clients take turns. Default: none.
    public var client: String?
    public var options: TransferOptions
    /// Preconditions about a stored body of this URL; default none.
    public var conditions: StoredBodyConditions?
    /// Other hosts that may serve parts of the body. Only ``SegmentingTransport`` uses them.
    package var furtherSources: FurtherSources?
    /// Fields that replace those with the same names, for the URL's own origin only (scheme, host and port), such as a service's keys.
    package var originFields: HTTPFields = [:]

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

/// Preconditions about a stored body (RFC 9110 section 13.1), and the URL that it came from.
///
/// A validator is unique to its resource, so the preconditions are sent only to that resource, wherever redirects lead. A 304 then unambiguously
/// refers to the stored body, and another resource is requested as a whole.
public struct StoredBodyConditions: Sendable {
    /// The preconditions: `If-None-Match`, `If-Modified-Since`.
    public var fields: HTTPFields
    /// The final URL that the stored body came from.
    public var url: String

    public init(fields: HTTPFields, url: String) {
        self.fields = fields
        self.url = url
    }
}

/// The priority of a transfer. Waiting transfers start in order of priority, then of arrival.
public enum TransferPriority: Int, Sendable, Comparable, CaseIterable {
    /// For content that may be needed later: prefetching.
    case background
    case normal
    /// For content that is visible to a user.
    case high

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The options of a transfer: connection, identification, limits and time-outs.
public struct TransferOptions: Sendable, Hashable {
    /// A user and a password for HTTP Basic authentication (RFC 7617).
    public struct Credentials: Sendable, Hashable {
        public var user: String
        public var password: String

        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }

        // Servers compare bytes: two spellings of one character are two users.
        public static func == (one: Credentials, other: Credentials) -> Bool {
            one.user.hasSameBytes(as: other.user) && one.password.hasSameBytes(as: other.password)
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(user.asBytes)
            hasher.combine(password.asBytes)
        }
    }

    /// A certificate that identifies the client in the TLS handshake (mutual TLS).
    public struct ClientCertificate: Sendable, Hashable {
        /// A file in PEM with the certificate, followed by the certificates that it was issued by, and by the private key without ``privateKey``.
        public var path: String
        /// A file in PEM with the private key.
        public var privateKey: String?
        /// The passphrase of an encrypted private key.
        public var passphrase: String?

        public init(path: String, privateKey: String? = nil, passphrase: String? = nil) {
            self.path = path
            self.privateKey = privateKey
            self.passphrase = passphrase
        }
    }

    /// The source of credentials that the request itself does not contain.
    public enum Netrc: Sendable, Hashable {
        /// No file.
        case off
        /// `~/.netrc`
        case `default`
        /// A file in the format of `.netrc`.
        case path(String)
    }

    /// The `User-Agent` field; `nil` sends `imgcache` (nothing with ``forwardsErrorResponses``), an empty string sends none. A `User-Agent` among
    /// the request's fields takes precedence.
    public var userAgent: String?
    /// Credentials, which are sent without a challenge, only to the URL's own origin.
    public var credentials: Credentials?
    /// Default ``Netrc/off``.
    public var netrc: Netrc = .off
    /// The client's certificate, presented only to the URL's own origin (scheme, host and port). Default: none.
    public var clientCertificate: ClientCertificate?
    /// A file of cookies in Netscape's format or as `Set-Cookie` fields. Each is sent to the hosts and paths that it belongs to (RFC 6265 section
    /// 5.4), also after redirects, together with cookies that the redirects set. The file is not changed. Default: none.
    public var cookieFile: String?
    /// The URL of the proxy. With `nil`, `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the environment apply. With an empty string, no
    /// proxy is used. An engine with an ``AddressPolicy`` never uses one.
    public var proxy: String?
    /// A file of certificate authorities in PEM that replaces the system's.
    public var caFile: String?
    /// True to accept any server certificate.
    public var insecure = false
    /// The time to resolve, connect and complete the TLS handshake, for each attempt and each redirect; default 30 s.
    public var connectTimeout: Duration = .seconds(30)
    /// The time for one attempt as a whole; default none. `RetryPolicy.maxTotalTime` limits all attempts together.
    public var maxTime: Duration?
    /// The limit of the rate, in body bytes a second; default unlimited.
    public var rateLimit: Int64?
    /// The limit of a body's length in bytes. A longer body is refused, in advance if its length is known.
    public var maxFileSize: Int64?
    /// The number of redirects that are followed before `TransferError.Code.tooManyRedirects`; default 20. With 0, the redirect itself is the
    /// response (`TransferResult.Outcome.status`).
    public var maxRedirects = 20
    /// The time without a byte after which an attempt has stalled; default 30 s. A response head must also be completed
    /// within this time.
    public var stallTimeout: Duration = .seconds(30)
    /// The lowest rate, in body bytes a second. An attempt that receives less in a period of ``stallTimeout`` has failed, and counts as one without
    /// progress. Each connection for a body is judged by itself. Default: none.
    public var minimumRate: Int64?
    /// The number of retries and the pauses between them; default: `RetryPolicy()`.
    public var retry = RetryPolicy()
    /// True to send the request's own `Accept-Encoding` field. Such a transfer is not resumed. By default `identity` is
    /// requested, because a byte range of a compressed body is useless without the same compression.
    public var acceptsContentCoding = false
    /// True to pass bodies of all statuses to the sink and to send the request's own `Range` and `If-Range`: for a proxy, which forwards errors
    /// like other responses. Then no status causes a retry, and no `Accept` or `User-Agent` is added to the request. By default an error status
    /// leads to `TransferResult.Outcome.status`, and its body is discarded.
    public var forwardsErrorResponses = false
    /// The largest number of connections to one origin for one body of at least 8 MiB; default 16. A transfer begins with one connection.
    /// Additional connections send `Range` and `If-Range`, and are used as long as they increase the rate. A body from several mirrors uses at most
    /// 64 connections in all. With 1, there are no additional connections.
    public var maxSegments = 16
    /// True for an additional connection for the body of another transfer: it is not multiplexed.
    package var isSegment = false
    /// True to report `TransferEvent.requestHead(_:)` and `TransferEvent.responseHead(_:)`.
    public var reportsHeads = false
    /// The decisions of a service about the transfers for one of its origins; default none.
    package var gate: GateReference?

    public init() {}
}
