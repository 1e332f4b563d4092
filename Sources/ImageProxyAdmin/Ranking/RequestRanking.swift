import ConcurrencyPrimitives
package import HTTPServer

/// The most requested and the slowest targets of the last five to ten minutes.
///
/// The counts use the algorithm of Misra and Gries. With room for `k` targets, a count is too low by at most a `k`-th of all requests. A
/// target with a larger share is therefore always included.
package final class RequestRanking: Sendable {
    /// A request that has ended.
    package struct Sample: Sendable {
        package var target: String
        package var status: Int
        package var outcome: String?
        package var bytesSent: Int64
        package var duration: Duration

        package init(target: String, status: Int, outcome: String?, bytesSent: Int64, duration: Duration) {
            self.target = target
            self.status = status
            self.outcome = outcome
            self.bytesSent = bytesSent
            self.duration = duration
        }

        /// Returns nil for a request that cannot be ranked: malformed, or without a response.
        package init?(_ record: RequestRecord) {
            guard !record.isMalformed, record.status > 0 else { return nil }
            self.init(
                target: record.request.head.targetText, status: record.status, outcome: record.outcome,
                bytesSent: record.bytesSent, duration: record.duration)
        }
    }

    /// The count of a target.
    struct Count: Equatable {
        var requests = 0
        var bytes: Int64 = 0
    }

    /// The greatest number of targets that are counted at a time.
    static let mostTargets = 1000
    /// The number of slowest requests that are kept.
    static let mostSlowest = 20
    /// The longest target in bytes of UTF-8. Longer ones are truncated.
    static let longestTarget = 512
    static let windowLength = Duration.seconds(300)

    private struct Window {
        var counts: [String: Count] = [:]
        /// Slowest first.
        var slowest: [Sample] = []

        mutating func note(_ sample: Sample) {
            if counts[sample.target] == nil, counts.count >= RequestRanking.mostTargets {
                return counts = counts.compactMapValues { count in
                    count.requests > 1 ? Count(requests: count.requests - 1, bytes: count.bytes) : nil
                }
            }
            counts[sample.target, default: Count()].requests += 1
            counts[sample.target, default: Count()].bytes += sample.bytesSent
        }

        mutating func rank(_ sample: Sample) {
            let place = slowest.firstIndex { $0.duration < sample.duration } ?? slowest.endIndex
            guard place < RequestRanking.mostSlowest else { return }
            slowest.insert(sample, at: place)
            if slowest.count > RequestRanking.mostSlowest { slowest.removeLast() }
        }
    }

    private struct State {
        var current = Window()
        var previous = Window()
        var began: Duration?

        mutating func turn(_ now: Duration) {
            let age = now - (began ?? now)
            if began == nil { began = now }
            guard age >= RequestRanking.windowLength else { return }
            previous = age < RequestRanking.windowLength * 2 ? current : Window()
            current = Window()
            began = now
        }
    }

    private let state = Locked(State())
    private let now: @Sendable () -> Duration

    /// - Parameter now: A monotonic time.
    package init(now: @escaping @Sendable () -> Duration) { self.now = now }

    package convenience init() {
        let start = ContinuousClock.now
        self.init { ContinuousClock.now - start }
    }

    package func note(_ sample: Sample) {
        var sample = sample
        if sample.target.utf8.count > Self.longestTarget {
            sample.target = String(decoding: sample.target.utf8.prefix(Self.longestTarget), as: UTF8.self) + "…"
        }
        let time = now()
        state.withLock { [sample] state in
            state.turn(time)
            state.current.note(sample)
            state.current.rank(sample)
        }
    }

    /// The targets with the most requests, in descending order.
    func mostRequested(_ limit: Int) -> [(target: String, count: Count)] {
        let time = now()
        let counts = state.withLock { state in
            state.turn(time)
            return state.current.counts.merging(state.previous.counts) {
                Count(requests: $0.requests + $1.requests, bytes: $0.bytes + $1.bytes)
            }
        }
        let sorted = counts.sorted { left, right in
            (right.value.requests, left.key) < (left.value.requests, right.key)
        }
        return sorted.prefix(limit).map { (target: $0.key, count: $0.value) }
    }

    /// The requests that took the longest, in descending order.
    func slowest(_ limit: Int) -> [Sample] {
        let time = now()
        let samples = state.withLock { state in
            state.turn(time)
            return state.current.slowest + state.previous.slowest
        }
        return Array(samples.sorted { $0.duration > $1.duration }.prefix(limit))
    }
}
