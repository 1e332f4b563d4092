import HTTPSemantics
import Units

/// `GET /api/requests`: the most requested and the slowest targets of the last five to ten minutes.
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

    var mostRequested: [Requested]
    var slowest: [Slow]

    init(_ ranking: RequestRanking, limit: Int) {
        mostRequested = ranking.mostRequested(limit).map {
            Requested(target: MaskedText.masked($0.target), requests: $0.count.requests, sentBytes: $0.count.bytes)
        }
        slowest = ranking.slowest(limit).map {
            Slow(
                target: MaskedText.masked($0.target), milliseconds: rounded($0.duration.inSeconds * 1000),
                status: $0.status, cache: $0.outcome)
        }
    }
}
