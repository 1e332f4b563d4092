import FoundationEssentials
import ImageCache

/// Samples the totals once a second.
struct TrafficSampler: Sendable {
    let history: TrafficHistory
    let registry: MetricsRegistry
    let cache: DownloadCache

    /// Samples until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            history.note(TrafficTotals(registry, cache.transferTotals), at: Date())
            // Waits for the next full second, so that a step of the series is one of the clock.
            let fraction = Date().timeIntervalSince1970.truncatingRemainder(dividingBy: 1)
            try? await Task.sleep(for: .seconds(1.005 - fraction))
        }
    }
}
