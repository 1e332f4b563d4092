import ConcurrencyPrimitives
package import FoundationEssentials
import HTTPSemantics
package import HTTPServer

/// The most requested, the slowest and the most often failing targets of the last five to ten minutes, and the latest errors.
package final class RequestRanking: Sendable {
    /// A request that has ended.
    package struct Sample: Sendable {
        package var target: String
        package var status: Int
        package var outcome: String?
        package var bytesSent: Int64
        package var duration: Duration
        /// The request's id; nil for a response that is repeated from memory.
        package var id: String?
        /// The error's code and its cause, if the response is an error of this service.
        package var error: String?
        package var detail: String?

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
            id = record.request.id
            error = record.error
            detail = record.detail
        }
    }

    /// A response 4xx or 5xx, and its time.
    struct Failure: Sendable {
        var sample: Sample
        var date: Date
    }

    /// A target, and the error status that it gets.
    struct FailingTarget: Hashable, Sendable {
        var target: String
        var status: Int
    }

    typealias Count = FrequentItems<String>.Count

    /// The greatest number of targets that are counted at a time.
    static let mostTargets = 1000
    /// The number of slowest requests that are kept.
    static let mostSlowest = 20
    /// The number of errors that are kept, of 4xx and of 5xx each: many of one kind do not push the other out.
    static let mostFailures = 25
    /// The longest target in bytes of UTF-8, and the longest cause of an error. Longer ones are truncated.
    static let longestText = 512
    static let windowLength = Duration.seconds(300)

    private struct Window {
        var requested = FrequentItems<String>(room: RequestRanking.mostTargets)
        var failing = FrequentItems<FailingTarget>(room: RequestRanking.mostTargets)
        /// Slowest first.
        var slowest: [Sample] = []

        mutating func note(_ sample: Sample) {
            requested.note(sample.target, bytes: sample.bytesSent)
            if sample.status >= 400 { failing.note(FailingTarget(target: sample.target, status: sample.status)) }
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
        /// The latest last.
        var clientErrors: [Failure] = []
        var serverErrors: [Failure] = []

        mutating func turn(_ now: Duration) {
            let age = now - (began ?? now)
            if began == nil { began = now }
            guard age >= RequestRanking.windowLength else { return }
            previous = age < RequestRanking.windowLength * 2 ? current : Window()
            current = Window()
            began = now
        }

        mutating func keep(_ failure: Failure) {
            func keep(_ failures: inout [Failure]) {
                if failures.count == RequestRanking.mostFailures { failures.removeFirst() }
                failures.append(failure)
            }
            if failure.sample.status >= 500 { keep(&serverErrors) } else { keep(&clientErrors) }
        }
    }

    private let state = Locked(State())
    private let now: @Sendable () -> Duration
    private let date: @Sendable () -> Date

    /// - Parameters:
    ///   - now: A monotonic time.
    ///   - date: The wall clock.
    package init(now: @escaping @Sendable () -> Duration, date: @escaping @Sendable () -> Date = { Date() }) {
        self.now = now
        self.date = date
    }

    package convenience init() {
        let start = ContinuousClock.now
        self.init { ContinuousClock.now - start }
    }

    package func note(_ sample: Sample) {
        var sample = sample
        sample.target = Self.shortened(sample.target)
        sample.detail = sample.detail.map(Self.shortened)
        let time = now()
        let failure = sample.status >= 400 ? Failure(sample: sample, date: date()) : nil
        state.withLock { [sample] state in
            state.turn(time)
            state.current.note(sample)
            if let failure { state.keep(failure) }
        }
    }

    private static func shortened(_ text: String) -> String {
        if text.utf8.count <= longestText { return text }
        // The part of a secret that is left would not be recognised as one.
        return String(decoding: MaskedText.masked(text).utf8.prefix(longestText), as: UTF8.self) + "…"
    }

    /// The targets with the most requests, in descending order.
    func mostRequested(_ limit: Int) -> [(target: String, count: Count)] {
        let counts = windows { $0.requested.merged(with: $1.requested) }
        let sorted = counts.sorted { left, right in
            (right.value.requests, left.key) < (left.value.requests, right.key)
        }
        return sorted.prefix(limit).map { (target: $0.key, count: $0.value) }
    }

    /// The targets with the most errors, in descending order.
    func mostFailing(_ limit: Int) -> [(failing: FailingTarget, requests: Int)] {
        let counts = windows { $0.failing.merged(with: $1.failing) }
        let sorted = counts.sorted { left, right in
            (right.value.requests, left.key.target, left.key.status)
                < (left.value.requests, right.key.target, right.key.status)
        }
        return sorted.prefix(limit).map { (failing: $0.key, requests: $0.value.requests) }
    }

    /// The requests that took the longest, in descending order.
    func slowest(_ limit: Int) -> [Sample] {
        let samples = windows { $0.slowest + $1.slowest }
        return Array(samples.sorted { $0.duration > $1.duration }.prefix(limit))
    }

    /// The latest errors, at most `limit` of 4xx and as many of 5xx, the latest first.
    func failures(_ limit: Int = mostFailures) -> [Failure] {
        let kinds = state.withLock { [$0.clientErrors, $0.serverErrors] }
        func isLater(_ one: Failure, _ other: Failure) -> Bool { one.date > other.date }
        return kinds.flatMap { $0.sorted(by: isLater).prefix(limit) }.sorted(by: isLater)
    }

    /// Reads the current window and the one before.
    private func windows<Result: Sendable>(_ read: (Window, Window) -> Result) -> Result {
        let time = now()
        return state.withLock { state in
            state.turn(time)
            return read(state.current, state.previous)
        }
    }
}
