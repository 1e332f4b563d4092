import FoundationEssentials
import HTTPSemantics
import Units

/// `GET /api/requests`: the most requested, the slowest and the most often failing targets of the last five to ten minutes, and the latest
/// errors.
struct RankingResponse: Encodable {
    struct Requested: Encodable {
        var target: String
        /// The count, which may be too low by at most a thousandth of all requests.
        var requests: Int
        var sentBytes: Int64
    }

    struct Slow: Encodable {
        var target: String
        var milliseconds: Double
        var status: Int
        var cache: String?
    }

    struct Failing: Encodable {
        var target: String
        var status: Int
        /// The count, which may be too low by at most a thousandth of all errors.
        var requests: Int
    }

    struct Failure: Encodable {
        /// Seconds since 1970.
        var at: Double
        var target: String
        var status: Int
        /// The request's id, as in the access log and in the response; nil for a response that was repeated from memory.
        var id: String?
        /// The code of an error of this service; nil for a response of the origin.
        var error: String?
        var detail: String?
    }

    var mostRequested: [Requested]
    var slowest: [Slow]
    var failing: [Failing]
    /// All that are kept, the latest first.
    var errors: [Failure]

    init(_ ranking: RequestRanking, limit: Int) {
        mostRequested = ranking.mostRequested(limit).map {
            Requested(target: MaskedText.masked($0.target), requests: $0.count.requests, sentBytes: $0.count.bytes)
        }
        slowest = ranking.slowest(limit).map {
            Slow(
                target: MaskedText.masked($0.target), milliseconds: rounded($0.duration.inSeconds * 1000),
                status: $0.status, cache: $0.outcome)
        }
        failing = ranking.mostFailing(limit).map {
            Failing(target: MaskedText.masked($0.failing.target), status: $0.failing.status, requests: $0.requests)
        }
        errors = ranking.failures().map {
            Failure(
                at: $0.date.timeIntervalSince1970, target: MaskedText.masked($0.sample.target),
                status: $0.sample.status, id: $0.sample.id, error: $0.sample.error,
                detail: $0.sample.detail.map(MaskedText.masked))
        }
    }
}
