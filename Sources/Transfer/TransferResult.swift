public import HTTPTypes

/// The result of a transfer.
public struct TransferResult: Sendable {
    /// The part of the response that was received.
    public enum Outcome: Sendable, Equatable {
        /// The sink has received the whole body.
        case body
        /// A 304 to the request's own precondition. The sink was not called.
        case notModified
        /// A response without a body for the sink: an error status that retries did not resolve, a redirect that is not
        /// followed, or a response to HEAD. The body was discarded.
        case status
    }

    /// The head of the last response; for a resumed transfer, of the last 206 or 416.
    public var head: ResponseHead
    public var outcome: Outcome
    /// The number of body bytes received, over all attempts.
    public var bytesReceived: Int64
    /// The number of bytes that were held before the transfer and not fetched again.
    public var resumedFrom: Int64
    /// The number of requests sent, without redirects.
    public var attempts: Int
    /// The reasons for which held bytes were dropped, one text for each time.
    public var restarts: [String]
    /// The reason why a retryable error status was not retried.
    public var retriesEnded: String?

    public init(
        head: ResponseHead, outcome: Outcome, bytesReceived: Int64 = 0, resumedFrom: Int64 = 0, attempts: Int = 1,
        restarts: [String] = [], retriesEnded: String? = nil
    ) {
        self.head = head
        self.outcome = outcome
        self.bytesReceived = bytesReceived
        self.resumedFrom = resumedFrom
        self.attempts = attempts
        self.restarts = restarts
        self.retriesEnded = retriesEnded
    }
}

/// A transfer's progress. Events are delivered in order, one at a time.
public enum TransferEvent: Sendable {
    /// The transfer is queued.
    case queued
    /// Attempt number `n`, counted from 1, starts.
    case attempt(Int)
    /// An interim response (1xx, RFC 9110 section 15.2), only with ``TransferOptions/forwardsErrorResponses``.
    case interim(HTTPResponse.Status, HTTPFields)
    /// A body begins: `resumedFrom` bytes of it are held already, `total` is its whole length, if known.
    case head(ResponseHead, resumedFrom: Int64, total: Int64?)
    /// The number of body bytes that the sink has, including held ones. Reported about ten times a second and at the end.
    case received(Int64, total: Int64?)
    /// Held bytes are dropped, for this reason.
    case restart(String)
    /// The attempt failed; the next one starts after this pause.
    case retrying(after: Duration, because: String)
    /// A request head as sent, one element a line, credentials masked; only with ``TransferOptions/reportsHeads``.
    case requestHead([String])
    /// A response head as received, also of redirects; only with ``TransferOptions/reportsHeads``.
    case responseHead([String])
}
