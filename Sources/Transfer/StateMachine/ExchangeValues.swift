import FoundationEssentials
import HTTPTypes

/// A request as the transport is to send it.
struct OutgoingRequest {
    let hop: Hop
    /// The value of `Range` without its unit.
    let range: String?
    /// Preconditions about held bytes or a stored body: they are asked only of the resource that those came from, because a 206
    /// or 304 of another one would mean something else by the same validator.
    let conditions: HTTPFields
    /// The rest of the attempt's time limit.
    let timeLeft: Duration?
    let usesFreshConnection: Bool
}

/// A final response head as it came.
struct ReceivedHead {
    let status: Int
    let version: String
    let fields: HTTPFields
    let receivedAt: Date

    /// The statuses of redirects that are followed.
    private static let redirects = [301, 302, 303, 307, 308]

    /// The place that a redirect leads to; nil for all other responses.
    var redirectLocation: String? { Self.redirects.contains(status) ? fields.redirectLocation : nil }
}

/// A body that begins.
struct BodyStart {
    let head: ResponseHead
    let placement: BodyPlacement
    /// Bytes of it that are held already.
    let resumedFrom: Int64
    let total: Int64?
    /// Why held bytes were dropped.
    var restarting: String?
}

/// The way in which the transport's work on a request ended.
enum ExchangeEnd {
    /// The response is complete, as far as the transport knows.
    case complete
    /// Nothing has moved for too long.
    case stalled
    case failed(TransportFailure)
}

/// A failure of the transport.
struct TransportFailure {
    var code: TransferError.Code
    var message: String
    var isRetryable: Bool
    /// No connection was made in time: a refused address may be the reason.
    var isWithoutConnection = false
    /// The bytes that came are no HTTP, on a connection that was used before: what the origin sent there beyond the length of the response
    /// before (or after a 204) may have been taken for this one's beginning.
    var isFromSpoiledConnection = false
}

extension DeclaredLength {
    func isAtMost(_ limit: Int64) -> Bool {
        if case .bytes(let length) = self { length <= limit } else { true }
    }
}
