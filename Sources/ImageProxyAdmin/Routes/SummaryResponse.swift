import Fleet
import FoundationEssentials
import ImageCache
import ImageProxy
import Units

/// `GET /api/summary`: the state of the server. Times are in seconds, latencies in milliseconds, sizes in bytes.
struct SummaryResponse: Encodable {
    var now: Double
    var started: Double
    var version: String
    /// In the order of their names.
    var origins: [Origin]
    var state: Readiness.State
    /// Errors first.
    var problems: [Problem]
    var canPurge: Bool
    /// The number of running requests.
    var active: Int
    var totals: Totals
    var recent: Recent
    var store: Store
    var memory: Memory
    var images: Images
    var evictions: Evictions
    /// Absent without a shared store.
    var remote: Remote?

    struct Totals: Encodable {
        var requests, hits, ready, misses, passed, clientErrors, serverErrors: Int
        var sentBytes, originBytes, savedBytes, originRequests, resumes, resumedBytes: Int

        init(_ totals: TrafficTotals) {
            (requests, hits, ready, misses) = (totals.requests, totals.hits, totals.ready, totals.misses)
            passed = totals.passed
            (clientErrors, serverErrors) = (totals.clientErrors, totals.serverErrors)
            (sentBytes, originBytes, savedBytes) = (totals.sentBytes, totals.originBytes, totals.savedBytes)
            (originRequests, resumes, resumedBytes) = (totals.originRequests, totals.resumes, totals.resumedBytes)
        }
    }

    struct Origin: Encodable {
        /// `url` contains no credentials. `state` is `closed` while requests are sent, `open` while clients are refused, and `half-open`
        /// while a probe is running.
        var name, url, state: String
        var failures, refused: Int
        /// Since the start: all transfers, and those with a status 4xx or 5xx.
        var requests, clientErrors, serverErrors: Int
        /// The last minute. `errorRatio` counts responses 5xx and transfers without a response.
        var requestsPerSecond: Double
        var errorRatio, p95: Double?

        init(_ gate: OriginGate, _ health: OriginHealth.Snapshot) {
            (name, url, state) = (gate.name, gate.shownURL, health.state)
            (failures, refused) = (health.failures, health.refused)
            let counts = health.traffic.counts
            requests = counts.values.reduce(0, +)
            (clientErrors, serverErrors) = (counts[.clientError] ?? 0, counts[.serverError] ?? 0)
            requestsPerSecond = rounded(health.recent.requestsPerSecond)
            errorRatio = health.recent.errorRatio.map(rounded)
            p95 = health.recent.p95.map { rounded($0.inSeconds * 1000) }
        }
    }

    /// Images since the start, and the CPU time of their steps.
    struct Images: Encodable {
        enum Workers: String, Encodable {
            case available, unavailable
            /// Images are decoded in the service's own process.
            case off
        }

        struct Step: Encodable {
            var name: String
            var count: Int
            /// CPU milliseconds.
            var p50, p95: Double?
        }

        struct Kind: Encodable {
            var format: String
            var preset: String?
            var count: Int
        }

        var decoded, encoded, damaged, crashes, replacements: Int
        /// CPU seconds of all steps.
        var cpu: Double
        var workers: Workers
        var steps: [Step]
        /// The images rendered for requests, the most frequent kinds first.
        var kinds: [Kind]

        init(_ images: ImageStatistics, _ renders: RenderCounts) {
            (decoded, encoded, damaged) = (images.decodes, images.encodes, images.damaged)
            (crashes, replacements) = (images.crashes, images.workerReplacements)
            workers = images.hasWorkers.map { $0 ? .available : .unavailable } ?? .off
            let times = [
                ("decode", images.times.decode), ("process", images.times.process), ("encode", images.times.encode),
            ]
            cpu = rounded(times.reduce(0) { $0 + Double($1.1.sum) / 1e9 })
            steps = times.map { name, times in
                Step(
                    name: name, count: times.count, p50: times.percentile(0.5).map { rounded($0 / 1e6) },
                    p95: times.percentile(0.95).map { rounded($0 / 1e6) })
            }
            kinds = renders.all.filter { $0.value > 0 }
                .map { Kind(format: $0.key.formatName, preset: $0.key.preset, count: $0.value) }
                .sorted { ($1.count, $0.format, $0.preset ?? "") < ($0.count, $1.format, $1.preset ?? "") }
        }
    }

    /// The last minute.
    struct Recent: Encodable {
        var requestsPerSecond: Double
        /// The shares of responses without content from the origin, and of those that were there as they are.
        var hitRatio, readyRatio: Double?
        var p50, p95, p99: Double?

        init(_ point: TrafficPoint?) {
            let point = point ?? .nothing
            requestsPerSecond = rounded(point.requests)
            let asked = point.hits + point.misses
            hitRatio = asked > 0 ? point.hits / asked : nil
            readyRatio = asked > 0 ? point.ready / asked : nil
            (p50, p95, p99) = (point.p50.map(rounded), point.p95.map(rounded), point.p99.map(rounded))
        }
    }

    struct Store: Encodable {
        var entries, bodyBytes, partialBytes, doomedBytes, indexBytes, usedBytes, capacity, freeSpace: Int64
        var partials: Int

        init(_ statistics: StoreStatistics) {
            (entries, bodyBytes) = (statistics.entries, statistics.bodyBytes)
            (partials, partialBytes) = (statistics.partials, statistics.partialBytes)
            (doomedBytes, indexBytes) = (statistics.doomedBytes, statistics.indexBytes)
            (usedBytes, capacity, freeSpace) = (statistics.usedBytes, statistics.capacity, statistics.freeSpace)
        }
    }

    struct Memory: Encodable {
        var usedBytes = 0
        var capacity = 0
        var entries = 0

        init(_ caches: [MemoryCacheStatistics]) {
            for cache in caches {
                usedBytes += cache.bytes
                capacity += cache.limits.capacity
                entries += cache.entries
            }
        }
    }

    /// The shared store.
    struct Remote: Encodable {
        var isAvailable: Bool
        var hits, misses, imageHits, imageMisses, errors, damaged, uploads, dropped, waiting: Int
        var readBytes, writtenBytes, waitingBytes: Int64

        init(_ remote: RemoteStatistics) {
            isAvailable = remote.isAvailable
            (hits, misses, imageHits, imageMisses) = (
                remote.hits, remote.misses, remote.imageHits, remote.imageMisses
            )
            (errors, damaged) = (remote.errors, remote.damaged)
            (uploads, dropped, waiting) = (remote.uploads, remote.droppedUploads, remote.waitingUploads)
            (readBytes, writtenBytes) = (remote.traffic.bytesRead, remote.traffic.bytesWritten)
            waitingBytes = remote.waitingBytes
        }
    }

    struct Evictions: Encodable {
        var count: Int
        var bytes: Int64
        var last: Last?
        var medianAge: Double?
        var ages: [Band]

        struct Last: Encodable {
            var at, age: Double
        }

        struct Band: Encodable {
            /// In seconds; nil: unlimited.
            var upTo: Double?
            var count: Int
        }

        init(_ statistics: EvictionStatistics) {
            (count, bytes) = (statistics.count, statistics.bytes)
            last = statistics.last.map { Last(at: $0.date.timeIntervalSince1970, age: rounded($0.age.inSeconds)) }
            medianAge = statistics.medianAge.map { rounded($0.inSeconds) }
            ages = statistics.ages.map { Band(upTo: $0.upTo?.inSeconds, count: $0.count) }
        }
    }
}
