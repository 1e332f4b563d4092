/// Decides how many connections are used for a body, from the total rate.
///
/// Once the rate is steady, a first trial adds three connections. They stay if the total rate rises by a clear share of what the earlier
/// connections had, or if it is far below the recent peak, so that the link is not the limit. Otherwise they end, and the next trial, which doubles
/// the connections, comes later each time. After a trial whose connections bring their whole share, the next one uses eight times as many
/// connections, otherwise four times as many.
struct ConnectionTrial {
    private enum Phase {
        /// The rate of the last window, if any, and the time for which it has not grown.
        case watching(Double?, steadyFor: Duration)
        /// The rate of the last window in which all connections received bytes, if any.
        case trying(before: Double, windows: Int, last: Double?)
        case resting(until: MonotonicTime)
    }

    /// The share of the earlier rate per connection that each new connection must add.
    static let leastGain = 0.25
    /// The share from which on each connection is considered to have a separate rate limit.
    private static let wholeGain = 0.7
    /// The share of the peak rate below which the link does not limit the connections.
    private static let farBelowPeak = 0.35
    /// The number of windows until new connections must receive bytes and must show a gain.
    private static let mostWindows = 6
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    /// The largest number of connections.
    private(set) var most: Int
    /// The number of connections that have increased the rate.
    private(set) var settled = 1
    /// The number of connections that should run now.
    private(set) var wanted = 1
    private var phase = Phase.watching(nil, steadyFor: .zero)
    private var factor = 4
    /// The peak rate, which decays by a tenth with each window.
    private var peak = 0.0
    private var pause = Self.firstPause
    private var hasTried = false

    init(most: Int) { self.most = max(1, most) }

    var isTrying: Bool {
        if case .trying = phase { true } else { false }
    }

    /// Records the end of a measurement window.
    ///
    /// - Parameters:
    ///   - rate: The rate of all connections, in bytes a second.
    ///   - time: The window's length.
    ///   - usual: The usual length of a window.
    ///   - begun: The number of connections that received bytes during the whole window.
    ///   - mayBegin: True if the first trial may begin.
    ///   - mayGoOn: True if another trial may begin.
    mutating func measured(
        _ rate: Double, in time: Duration, usual: Duration, begun: Int, mayBegin: Bool, mayGoOn: Bool,
        at now: MonotonicTime
    ) {
        peak = max(rate, peak * 0.9)
        switch phase {
        case .watching(let previous, let steady):
            guard mayBegin || mayGoOn && hasTried, settled < most, let previous, rate < previous * 1.3 else {
                phase = .watching(rate, steadyFor: .zero)
                return
            }
            // The rate falls after its peak. With packet loss it is never steady.
            if rate > previous * 0.75 || steady + time >= usual * 3 {
                attempt(before: rate)
            } else {
                phase = .watching(rate, steadyFor: steady + time)
            }
        case .trying(let before, let windows, let last): judge(rate, before, windows, last, begun, mayGoOn, at: now)
        case .resting(let until): if now >= until { phase = .watching(rate, steadyFor: .zero) }
        }
    }

    private mutating func judge(
        _ rate: Double, _ before: Double, _ windows: Int, _ last: Double?, _ begun: Int, _ mayGoOn: Bool,
        at now: MonotonicTime
    ) {
        let isLate = windows >= Self.mostWindows
        let counts = begun > settled && (begun >= wanted || isLate)
        // The mean of two windows: one alone may contain the delayed bytes of the one before.
        let mean = last.map { ($0 + rate) / 2 }
        if counts, let mean, isGain(mean, before, of: begun) {
            succeed(with: begun, from: before, to: mean)
            if mayGoOn, settled < most { attempt(before: mean) }
        } else if windows > Self.mostWindows {
            wanted = settled
            factor = 2
            rest(at: now)
        } else {
            phase = .trying(before: before, windows: windows + 1, last: counts ? rate : nil)
        }
    }

    private func share(of begun: Int) -> Double { Double(begun) / Double(settled) - 1 }

    private func isGain(_ rate: Double, _ before: Double, of begun: Int) -> Bool {
        rate >= before * (1 + share(of: begun) * Self.leastGain) || rate < peak * Self.farBelowPeak
    }

    private mutating func succeed(with begun: Int, from before: Double, to rate: Double) {
        let isWhole = rate >= before * (1 + share(of: begun) * Self.wholeGain)
        factor = isWhole ? 8 : 4
        if begun < wanted { most = begun }
        settled = begun
        wanted = begun
        pause = Self.firstPause
        phase = .watching(rate, steadyFor: .zero)
    }

    private mutating func attempt(before: Double) {
        hasTried = true
        wanted = min(most, settled * factor)
        phase = .trying(before: before, windows: 0, last: nil)
    }

    private mutating func rest(at now: MonotonicTime) {
        phase = .resting(until: now + pause)
        pause = min(pause * 2, Self.longestPause)
    }

    /// Records that a connection failed and this many are left.
    mutating func lostConnection(leaving count: Int, at now: MonotonicTime) {
        wanted = max(1, min(wanted, count))
        settled = min(settled, wanted)
        rest(at: now)
    }

    /// Excludes the connections of a source that was put aside from the trial.
    mutating func excuse(leaving count: Int) { wanted = max(settled, min(wanted, count)) }

    /// Sets the largest number of connections.
    mutating func allow(_ count: Int) {
        most = max(1, count)
        wanted = min(wanted, most)
        settled = min(settled, most)
    }

    /// Lowers the largest number of connections.
    mutating func limit(to count: Int) {
        most = max(1, min(most, count))
        wanted = min(wanted, most)
        settled = min(settled, most)
        phase = .watching(nil, steadyFor: .zero)
    }
}
