import HTTPCaching
import HTTPTypes

/// The start of a response, published as soon as it is known.
enum ResponseStart: Sendable {
    /// A stored file: found, confirmed by the origin, or received completely.
    case file(CachedFile)
    /// The body is being stored, and can be followed.
    case live(StoredResponse, CacheStatus, version: Int, BodyProgress)
    /// The body is forwarded to the first requester and is not stored.
    case passthrough(HTTPResponse, CacheStatus, PassthroughBody)
    /// A response without a body.
    case head(HTTPResponse, CacheStatus)
    case failed(ImageCacheError)

    /// True if requests that joined the fetch may be answered by it: its response may be stored, or comes from a store.
    var isForOthers: Bool {
        switch self {
        case .live(_, let status, _, _): status.stored || status.hit
        case .passthrough: false
        case .file, .head, .failed: true
        }
    }

    /// The head that the origin sent for this fetch; `nil` for a stored file and for an error.
    var head: HTTPResponse? {
        switch self {
        case .live(let response, _, _, _): HTTPResponse(status: response.status, headerFields: response.fields)
        case .passthrough(let head, _, _), .head(let head, _): head
        case .file, .failed: nil
        }
    }
}

/// The head of a complete representation that is being stored.
struct FollowableResponse: Sendable {
    var response: StoredResponse
    /// The version of its body (``BodyProgress/version``).
    var version: Int
}
