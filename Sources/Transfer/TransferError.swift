public import FoundationEssentials

/// A transfer's failure: a code for programs, and a sentence for people.
public struct TransferError: Error, Sendable {
    /// The kind of failure; further codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        private init(_ description: String) { self.description = description }

        /// libcurl is not installed, too old, or failed internally.
        public static let libcurl = Code("libcurl")
        /// The URL cannot be parsed, or is neither http nor https.
        public static let unsupportedURL = Code("unsupportedURL")
        /// The request conflicts with fields that the engine sets itself.
        public static let invalidRequest = Code("invalidRequest")
        /// The name of the host (or proxy) has no address.
        public static let resolve = Code("resolve")
        /// The host (or proxy) could not be connected to, or the connection was lost before a response.
        public static let connect = Code("connect")
        /// The ``AddressPolicy`` refuses the host's address. Nothing was sent to the host.
        public static let addressRefused = Code("addressRefused")
        /// The TLS handshake failed or the certificate is not trusted.
        public static let tls = Code("tls")
        /// Connecting took longer than `connectTimeout`, or the attempt longer than `maxTime`.
        public static let timeout = Code("timeout")
        /// No byte arrived for `stallTimeout`.
        public static let stalled = Code("stalled")
        /// Bytes arrived more slowly than `minimumRate`.
        public static let tooSlow = Code("tooSlow")
        /// The connection ended before the body did.
        public static let cut = Code("cut")
        /// The redirect's target cannot be parsed, or is neither http nor https.
        public static let badRedirect = Code("badRedirect")
        public static let tooManyRedirects = Code("tooManyRedirects")
        /// The body is longer than `maxFileSize`.
        public static let tooLarge = Code("tooLarge")
        /// The sink threw an error, which is the `cause`.
        public static let refusedBySink = Code("refusedBySink")
        /// The received bytes are not HTTP, contradict each other, or exceed all limits.
        public static let protocolViolation = Code("protocolViolation")
        /// The circuit of the origin is open after failures. Nothing was sent to the origin.
        package static let leftAlone = Code("leftAlone")
        public static let cancelled = Code("cancelled")
    }

    public var code: Code
    /// The requested URL, without user and password.
    public var url: String
    /// One sentence: the failure and its reason.
    public var message: String
    /// The underlying error, if any.
    public var cause: (any Error)?
    /// True if a later attempt may succeed.
    public var isRetryable: Bool
    /// The number of body bytes received before the failure, over all attempts.
    public var bytesReceived: Int64 = 0
    /// The number of requests sent.
    public var attempts: Int = 0
    /// True if the failure happened at another origin, to which the request was redirected.
    package var isOfRedirectTarget = false

    public init(
        _ code: Code, url: String, _ message: String, cause: (any Error)? = nil, isRetryable: Bool = false
    ) {
        self.code = code
        self.url = url
        self.message = message
        self.cause = cause
        self.isRetryable = isRetryable
    }
}

extension TransferError: CustomStringConvertible, LocalizedError {
    /// The URL, the message, and the cause.
    public var description: String {
        let reason = cause.map { " (\($0))" } ?? ""
        return "\(url): \(message)\(reason)"
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
