import ConcurrencyPrimitives
import HTTPSemantics

/// The measured rates of the origins that have served mirrored requests, and their recent failures.
final class OriginRates: Sendable {
    private struct Origin {
        /// In bytes per second; a new transfer has half of the weight. `nil` before the first measured transfer.
        var rate: Double?
        var failures = 0
        var running = 0
    }

    private let origins = Locked<[String: Origin]>([:])
    /// Shorter transfers measure the round trip rather than the rate.
    private static let fewestBytes: Int64 = 64 << 10

    /// The rank of a source; lower ones are tried first.
    struct Rank: Comparable {
        let isFailing: Bool
        let priority: Int
        let isMeasured: Bool
        let running: Int
        let rate: Double
        let place: Int

        static func < (left: Rank, right: Rank) -> Bool {
            if left.isFailing != right.isFailing { return right.isFailing }
            if left.priority != right.priority { return left.priority < right.priority }
            // Each origin is measured once before the fastest one is preferred.
            if left.isMeasured != right.isMeasured { return right.isMeasured }
            if !left.isMeasured, left.running != right.running { return left.running < right.running }
            if left.isMeasured, left.rate != right.rate { return left.rate > right.rate }
            return left.place < right.place
        }
    }

    /// Orders sources by priority, then by measured rate. Sources whose origin failed last come last.
    func ordered(_ sources: [Mirror]) -> [Mirror] {
        origins.withLock { origins in
            sources.enumerated().map { place, source in
                let origin = origins[Self.origin(of: source.url)] ?? Origin()
                let rank = Rank(
                    isFailing: origin.failures > 0, priority: source.priority, isMeasured: origin.rate != nil,
                    running: origin.running, rate: origin.rate ?? 0, place: place)
                return (rank, source)
            }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    func begin(_ url: String) { change(url) { $0.running += 1 } }

    /// Records the end of a transfer.
    ///
    /// - Parameter failed: True if the origin failed, which may also affect other files.
    func end(_ url: String, bytes: Int64, seconds: Double, failed: Bool) {
        change(url) { origin in
            origin.running -= 1
            origin.failures = failed ? origin.failures + 1 : 0
            guard !failed, bytes >= Self.fewestBytes, seconds > 0 else { return }
            let rate = Double(bytes) / seconds
            origin.rate = origin.rate.map { ($0 + rate) / 2 } ?? rate
        }
    }

    private func change(_ url: String, _ change: (inout Origin) -> Void) {
        origins.withLock { change(&$0[Self.origin(of: url), default: Origin()]) }
    }

    private static func origin(of url: String) -> String { (try? HTTPURL(url).origin) ?? url }
}
