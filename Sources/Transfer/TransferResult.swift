public import HTTPTypes

/// How a transfer ended.
public struct TransferResult: Sendable {
    /// The part of the response that was received.
    public enum Outcome: Sendable, Equatable {
        /// The whole body is in the sink.
        case body
        /// 304 to the request's own precondition. The sink was not touched.
        case notModified
        /// The head is all there is: an error status that retries did not cure, a redirect that is not followed, or an
        /// answer to HEAD. Its body was discarded; the sink was not touched.
        case status
    }

    /// The last response's head; of a resumed transfer, that of the last 206 or 416.
    public var head: ResponseHead
    public var outcome: Outcome
    /// Body bytes that crossed the network, over all attempts.
    public var bytesReceived: Int64
    /// Bytes that were held before the transfer began and were not fetched again.
    public var resumedFrom: Int64
    /// Requests that were made, redirects not counted.
    public var attempts: Int
    /// Why held bytes were dropped, in words, once for each time.
    public var restarts: [String]
    /// Why an error status was not tried again although it could have been.
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

/// What happens to a transfer while it runs. Events are delivered on the engine's thread, in order.
public enum TransferEvent: Sendable {
    /// It waits for its turn.
    case queued
    /// Attempt number `n`, counted from 1, starts.
    case attempt(Int)
    /// An interim response (1xx, RFC 9110 section 15.2), only with ``TransferOptions/passesEveryStatus``.
    case interim(HTTPResponse.Status, HTTPFields)
    /// A body begins: `resumedFrom` bytes of it are held already, `total` is its whole length, if known.
    case head(ResponseHead, resumedFrom: Int64, total: Int64?)
    /// Bytes of the body that are there by now, held ones included; about ten times a second, and at the end.
    case received(Int64, total: Int64?)
    /// What was held is dropped, and why.
    case restart(String)
    /// The attempt failed; the next one starts after this pause.
    case retrying(after: Duration, because: String)
    /// A request head as it was sent, one line each, credentials masked; only with ``TransferOptions/reportsHeads``.
    case requestHead([String])
    /// A response head as it came, each redirect's too; only with ``TransferOptions/reportsHeads``.
    case responseHead([String])
}
