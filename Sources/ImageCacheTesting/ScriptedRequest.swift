public import HTTPTypes
public import Transfer

/// A request as a ``ScriptedTransport`` received it.
public struct ScriptedRequest: Sendable {
    /// The number of the transfer that sent it, counted from 1. Retries and redirects of a transfer have the same
    /// number.
    public let transfer: Int
    /// The request's place in ``ScriptedTransport/requests``, counted from 1.
    public let number: Int
    public let url: String
    public let method: HTTPRequest.Method
    /// All fields as received by an origin, with `Range`, `If-Range` and the preconditions about a stored body.
    public let fields: HTTPFields
    public let body: [UInt8]?
    public let client: String?
    public let options: TransferOptions
    /// The transfer's current priority, which joining requests may raise.
    public internal(set) var priority: TransferPriority
    /// The way in which the transfer ended; `nil` while it runs.
    public internal(set) var ending: Ending?

    /// The way in which a transfer ended.
    public enum Ending: Sendable, Equatable {
        case finished
        case failed(TransferError.Code)
    }

    /// The URL's path, without the query.
    public var path: String {
        let rest = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        let path = rest.drop { $0 != "/" }.prefix { $0 != "?" }
        return path.isEmpty ? "/" : String(path)
    }
}
