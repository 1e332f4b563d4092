import HTTPServer
import HTTPTypes
import ImageCache

/// The cache's part in a response, for logs and metrics.
package enum CacheOutcome: String, Sendable, CaseIterable {
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
    /// Made here: an error, a response to OPTIONS.
    case none

    /// The outcome that a Cache-Status (RFC 9211) tells.
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

extension Response {
    /// A response with the cache's word for how it came by it.
    init(_ head: HTTPResponse, body: Body = .none, outcome: CacheOutcome) {
        self.init(head, body: body)
        self.outcome = outcome.rawValue
    }
}
