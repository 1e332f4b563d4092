import ImageCache
import ImageProxy
import Units

/// A condition that an operator should see at once: a banner of the page.
struct Problem: Encodable, Equatable {
    enum Severity: String, Encodable {
        /// Clients get errors, or soon will.
        case error
        /// Clients are served, at a cost.
        case warning
    }

    var severity: Severity
    var text: String
    /// The metric that shows it.
    var metric: String
}

extension Problem {
    /// The state of the service from which its problems are derived.
    struct Facts {
        var state = Readiness.State.ready
        /// In bytes.
        var usedBytes: Int64 = 0
        var capacity: Int64 = 0
        var freeSpace = Int64.max
        /// `nil` without a shared store.
        var hasRemote: Bool?
        /// False while no worker can be started; nil if images are decoded in the service's own process.
        var hasWorkers: Bool? = true
        /// In the order of their names.
        var origins: [(name: String, health: OriginHealth.Snapshot)] = []
    }

    /// Less free space than this is an error.
    static let leastSpace: Int64 = 256 << 20
    /// The share of errors of an origin in the last minute from which it is a problem, and the least number of its requests.
    private static let errorRatio = 0.1
    private static let leastRequests = 10.0

    /// The problems, errors first.
    static func all(_ facts: Facts) -> [Problem] {
        let problems =
            stateProblems(facts) + spaceProblems(facts) + facts.origins.compactMap(originProblem)
            + otherProblems(facts)
        return problems.filter { $0.severity == .error } + problems.filter { $0.severity == .warning }
    }

    private static func stateProblems(_ facts: Facts) -> [Problem] {
        switch facts.state {
        case .starting, .ready, .stopping: []
        case .unwritable:
            [
                Problem(
                    severity: .error, text: "The store cannot be written: nothing new is kept.",
                    metric: "imgcache_store_free_bytes")
            ]
        case .undecodable:
            [
                Problem(
                    severity: .error, text: "No worker process can be started: no image is rendered.",
                    metric: "imgcache_image_workers_available")
            ]
        }
    }

    private static func spaceProblems(_ facts: Facts) -> [Problem] {
        let metric = "imgcache_store_free_bytes"
        if facts.freeSpace < leastSpace {
            let text = "The store's file system is almost full: \(ByteSize(facts.freeSpace)) are left."
            return [Problem(severity: .error, text: text, metric: metric)]
        }
        let growth = max(0, facts.capacity - facts.usedBytes)
        guard facts.freeSpace < growth else { return [] }
        let text =
            "The store may grow by \(ByteSize(growth)), but its file system has \(ByteSize(facts.freeSpace)) left: lower the capacity."
        return [Problem(severity: .warning, text: text, metric: metric)]
    }

    private static func originProblem(_ name: String, _ health: OriginHealth.Snapshot) -> Problem? {
        if !health.isAvailable {
            return Problem(
                severity: .error,
                text: "The origin \(name) has failed and is left alone: what is not stored is answered with 503.",
                metric: "imgcache_origin_available")
        }
        guard let ratio = health.recent.errorRatio, ratio >= errorRatio,
            health.recent.requestsPerSecond * 60 >= leastRequests
        else { return nil }
        return Problem(
            severity: .warning,
            text: "\(Int((ratio * 100).rounded())) % of the requests to the origin \(name) fail.",
            metric: "imgcache_origin_transfers_total")
    }

    private static func otherProblems(_ facts: Facts) -> [Problem] {
        var problems: [Problem] = []
        if facts.hasRemote == false {
            problems.append(
                Problem(
                    severity: .warning,
                    text: "The shared store is left alone after failures: every miss goes to an origin.",
                    metric: "imgcache_remote_available"))
        }
        if facts.hasWorkers == nil || (facts.hasWorkers == false && facts.state != .undecodable) {
            problems.append(
                Problem(
                    severity: .warning,
                    text: "Images are decoded in the service's own process: a decoder's defect could end it, or worse.",
                    metric: "imgcache_image_workers_available"))
        }
        return problems
    }
}
