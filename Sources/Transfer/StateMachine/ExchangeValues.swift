import FoundationEssentials
import HTTPTypes

/// A request for the transport to send.
struct OutgoingRequest {
    let hop: Hop
    /// The value of `Range` without its unit.
    let range: String?
    /// Preconditions about held bytes or a stored body. They are sent only to the resource of those bytes, because a 206 or 304 of another resource
    /// would not refer to the same validator.
    let conditions: HTTPFields
    /// The remaining time of the attempt.
    let timeLeft: Duration?
    let usesFreshConnection: Bool
}

/// A final response head as received.
struct ReceivedHead {
    let status: Int
    let version: String
    let fields: HTTPFields
    let receivedAt: Date

    /// The statuses of redirects that are followed.
    private static let redirects = [301, 302, 303, 307, 308]

    /// The target of a redirect; `nil` for all other responses.
    var redirectLocation: String? { Self.redirects.contains(status) ? fields.redirectLocation : nil }
}

/// The beginning of a body.
struct BodyStart {
    let head: ResponseHead
    let placement: BodyPlacement
    /// The number of bytes that are held already.
    let resumedFrom: Int64
    let total: Int64?
    /// The reason for dropping held bytes, if any.
    var restarting: String?
}

/// The way in which the transport's work on a request ended.
enum ExchangeEnd {
    /// The response is complete, as far as the transport knows.
    case complete
    /// Too few bytes were sent or received.
    case stalled(TransferError)
    case failed(TransportFailure)
}

/// A failure of the transport.
struct TransportFailure {
    var code: TransferError.Code
    var message: String
    var isRetryable: Bool
    /// True if no connection was made in time. A refused address may be the reason.
    var isWithoutConnection = false
    /// True if the received bytes are not HTTP and the connection was used before. They may be bytes that the origin sent beyond the end of the
    /// previous response (or after a 204).
    var isFromSpoiledConnection = false
}

extension DeclaredLength {
    func isAtMost(_ limit: Int64) -> Bool {
        if case .bytes(let length) = self { length <= limit } else { true }
    }
}
