/// Why a transfer failed: a code to decide by, and a sentence that a person can act on.
public struct TransferError: Error, Sendable {
    /// What kind of failure; further ones may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        private init(_ description: String) { self.description = description }

        /// libcurl is not installed, too old, or failed inside.
        public static let libcurl = Code("libcurl")
        /// The URL cannot be parsed, or is neither http nor https.
        public static let unsupportedURL = Code("unsupportedURL")
        /// The request contradicts what the engine has to do itself.
        public static let invalidRequest = Code("invalidRequest")
        /// The host's (or proxy's) name has no address.
        public static let resolve = Code("resolve")
        /// No connection to the host (or proxy), or it broke before an answer.
        public static let connect = Code("connect")
        /// The host is at an address that the engine's ``AddressPolicy`` refuses; nothing was sent to it.
        public static let addressRefused = Code("addressRefused")
        /// The TLS handshake failed or the certificate is not trusted.
        public static let tls = Code("tls")
        /// Connecting took longer than `connectTimeout`, or the attempt longer than `maxTime`.
        public static let timeout = Code("timeout")
        /// No byte for `stallTimeout`.
        public static let stalled = Code("stalled")
        /// The connection ended before the body did.
        public static let cut = Code("cut")
        /// Redirected to what cannot be parsed, or is neither http nor https.
        public static let badRedirect = Code("badRedirect")
        public static let tooManyRedirects = Code("tooManyRedirects")
        /// The body is longer than `maxFileSize`.
        public static let tooLarge = Code("tooLarge")
        /// The sink threw; `cause` is what.
        public static let refusedBySink = Code("refusedBySink")
        /// What came is not HTTP, contradicts itself, or is out of all bounds.
        public static let protocolViolation = Code("protocolViolation")
        public static let cancelled = Code("cancelled")
    }

    public var code: Code
    /// The URL that was asked for, without user and password.
    public var url: String
    /// One sentence: what failed and why.
    public var message: String
    /// The error below this one, if there is one.
    public var cause: (any Error)?
    /// Whether trying the same again later may succeed.
    public var isRetryable: Bool
    /// Body bytes that crossed the network before it failed, over all attempts.
    public var bytesReceived: Int64 = 0
    /// Requests that were made.
    public var attempts: Int = 0

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

extension TransferError: CustomStringConvertible {
    public var description: String {
        let reason = cause.map { " (\($0))" } ?? ""
        return "\(url): \(message)\(reason)"
    }
}
