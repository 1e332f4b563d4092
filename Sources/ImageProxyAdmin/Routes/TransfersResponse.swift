import HTTPSemantics
import ImageCache
import Units

/// `GET /api/transfers`: the running transfers, the least advanced last.
struct TransfersResponse: Encodable {
    var transfers: [Transfer]
    /// The number of transfers that are not listed, because there are too many.
    var more: Int

    struct Transfer: Encodable {
        /// Constant for the duration of the transfer.
        var id: String
        var url: String
        /// `queued`, `waiting` (for another process), `transferring`, `retrying`, `storing`.
        var phase: String
        var received: Int64
        var total: Int64?
        var resumedFrom: Int64
        /// Seconds until the next retry, and the reason for it.
        var retryAfter: Double?
        var reason: String?
    }

    /// - Parameter running: The value of ``ImageCache/DownloadCache/running``.
    init(_ running: [(url: String, progress: DownloadProgress)], limit: Int = 100) {
        let sorted = running.sorted {
            ($0.progress.received, $1.url) > ($1.progress.received, $0.url)
        }
        // One URL may be fetched for several owners or variants at once.
        var seen: [String: Int] = [:]
        transfers = sorted.prefix(limit).map { url, progress in
            let url = MaskedText.masked(url)
            seen[url, default: 0] += 1
            return Transfer(id: "\(seen[url] ?? 1) \(url)", url, progress)
        }
        more = max(0, running.count - limit)
    }
}

extension TransfersResponse.Transfer {
    fileprivate init(id: String, _ url: String, _ progress: DownloadProgress) {
        self.id = id
        self.url = url
        received = progress.received
        total = progress.total
        resumedFrom = progress.resumedFrom
        switch progress.phase {
        case .queued: phase = "queued"
        case .waitingForOther: phase = "waiting"
        case .transferring: phase = "transferring"
        case .storing, .finished: phase = "storing"
        case .retrying(let delay, let reason):
            phase = "retrying"
            retryAfter = rounded(delay.inSeconds)
            self.reason = MaskedText.masked(reason)
        }
    }
}
