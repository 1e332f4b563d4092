import HTTPTypes
import ImageCache

/// An answer on its way to a client. The connection adds what belongs to the connection: Content-Length where it is known,
/// Transfer-Encoding, Connection, Date, the request id.
struct Response: Sendable {
    enum Body: Sendable {
        /// No content, and none may follow: HEAD, 204, 304.
        case none
        case bytes([UInt8])
        case content(AnswerContent)
    }

    var head: HTTPResponse
    var body: Body
    /// How the cache came to it.
    var outcome: CacheOutcome
    /// What went wrong, as the JSON body names it.
    var error: String?
    /// What else there is to say of it, for the log alone.
    var detail: String?
    /// Whether it is somebody else's, so that Via names this proxy (RFC 9110 section 7.6.3).
    var isPassedOn = false
    /// Whether the connection ends with this answer.
    var closes = false

    init(_ head: HTTPResponse, body: Body = .none, outcome: CacheOutcome = .none) {
        self.head = head
        self.body = body
        self.outcome = outcome
    }

    /// An error for a client to read: `{"error":"<code>","message":"…"}`, not to be cached.
    static func failure(
        _ status: Int, _ code: String, _ message: String, fields: HTTPFields = [:]
    ) -> Response {
        var head = HTTPResponse(status: .init(integerLiteral: status), headerFields: fields)
        head.headerFields[.contentType] = "application/json"
        head.headerFields[.cacheControl] = "no-store"
        var writer = JSONLine()
        writer.add("error", code)
        writer.add("message", message)
        var response = Response(head, body: .bytes(writer.finished()))
        response.error = code
        return response
    }
}

/// How an answer was come by: for the log and for counting.
enum CacheOutcome: String, Sendable, CaseIterable {
    /// From the store or from memory; the origin was not asked.
    case hit
    /// Stale, and the rules allowed it.
    case stale
    /// The origin confirmed what is stored.
    case revalidated
    /// From the origin, and stored.
    case miss
    /// From the origin of a request that was under way already.
    case collapsed
    /// From the origin, and not stored.
    case pass
    /// Made here: an error, an answer to OPTIONS.
    case none

    /// What the cache says of an answer (RFC 9211).
    init(_ status: CacheStatus) {
        guard status.forward != nil else {
            self = !status.hit ? .none : status.detail == nil ? .hit : .stale
            return
        }
        if status.forwardStatus == 304 {
            self = .revalidated
        } else if status.collapsed {
            self = .collapsed
        } else {
            self = status.stored ? .miss : .pass
        }
    }
}
