import HTTPCaching
import HTTPTypes

/// The beginning of a response, as soon as there is something to respond with.
enum ResponseStart: Sendable {
    /// A stored file: found, confirmed by the origin, or complete by now.
    case file(CachedFile)
    /// The body goes into the store, and can be followed there.
    case growing(StoredResponse, CacheStatus, version: Int, BodyGrowth)
    /// The body goes past the store, to the one who asked first.
    case passed(HTTPResponse, CacheStatus, PassedBody)
    /// There is no body.
    case head(HTTPResponse, CacheStatus)
    case failed(ImageCacheError)

    /// The head that the origin sent for this request alone.
    var head: HTTPResponse? {
        switch self {
        case .growing(let response, _, _, _): HTTPResponse(status: response.status, headerFields: response.fields)
        case .passed(let head, _, _), .head(let head, _): head
        case .file, .failed: nil
        }
    }
}

/// The head of a complete representation that is on its way into the store.
struct FollowableResponse: Sendable {
    var response: StoredResponse
    /// The beginning of the body that it belongs to (``BodyGrowth/version``).
    var version: Int
}
