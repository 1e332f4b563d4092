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
    var canPurge: Bool
    /// The number of running requests.
    var active: Int
    var totals: Totals
    var recent: Recent
    var store: Store
    var memory: Memory
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

        init(_ gate: OriginGate) {
            let health = gate.health.snapshot
            (name, url, state) = (gate.name, gate.shownURL, health.state)
            (failures, refused) = (health.failures, health.refused)
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
