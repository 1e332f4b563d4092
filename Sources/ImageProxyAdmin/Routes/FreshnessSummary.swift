import FoundationEssentials
import HTTPCaching
import Units

/// An entry's freshness for display.
struct FreshnessSummary: Sendable, Equatable, Encodable {
    enum State: String, Sendable, Encodable {
        case fresh, stale
        /// It must be validated before each use.
        case confirm
        /// The record is damaged, so the entry counts as a miss.
        case unknown
    }

    var state: State
    /// A short text: "Fresh for 3 h 12 min".
    var summary: String
    /// Complete sentences: the reason, and the handling of the next request.
    var reason: String
    var next: String

    init(_ explanation: Explanation?) {
        reason = explanation?.reason ?? ""
        next = explanation?.next ?? ""
        guard let explanation else {
            (state, summary) = (.unknown, "Its record is damaged; downloaded again")
            return
        }
        let freshness = explanation.freshness
        if freshness.isFresh {
            (state, summary) = (.fresh, "Fresh for \(TimeSpan(seconds: Double(freshness.remaining)))")
        } else if freshness.mustValidate {
            (state, summary) = (.confirm, "Validated with the origin before each use")
        } else {
            state = .stale
            summary = "Stale for \(TimeSpan(seconds: Double(-freshness.remaining))), \(Self.use(explanation.decision))"
        }
    }

    /// The use of a stale entry, in words.
    private static func use(_ decision: CacheDecision) -> String {
        switch decision {
        case .serve: "may be served nevertheless"
        case .serveAndRevalidate: "may be served while it is revalidated"
        case .validate(let validation) where validation.mayServeStaleOnError:
            "revalidated first, served if the origin fails"
        case .validate: "revalidated first"
        case .forward: "fetched anew"
        case .fail: "not served"
        }
    }
}
