/// Decides how many connections a body is worth, by the rates at which all of it arrives.
///
/// Three connections more are tried once the rate has stopped growing. They stay when the sum rises by a clear share of what a connection
/// brought before, or when the sum is far below what the link has carried just before, so that the link is not what limits it. Otherwise
/// they go away, and the next trial, of one connection, comes later each time. When those that are tried bring their whole share,
/// eight times as many are tried next, else four times as many.
struct ConnectionTrial {
    private enum Phase {
        /// The rate of the last window, if there was one, and the time for which it has not grown.
        case watching(Double?, steadyFor: Duration)
        /// The rate of the last window in which all of them had begun, if there was one.
        case trying(before: Double, windows: Int, last: Double?)
        case resting(until: MonotonicTime)
    }

    /// The share of what the connections before brought that those which are tried must add.
    static let leastGain = 0.25
    /// The share from which on the rate of a connection is taken to be a limit of its own.
    private static let wholeGain = 0.7
    /// The share of what the link has just carried below which it is not what limits the connections.
    private static let farBelowPeak = 0.35
    /// Windows until those that are tried must have begun, and until their gain must show.
    private static let mostWindows = 6
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    /// The most connections.
    private(set) var most: Int
    /// The number of connections that have proved worth their while.
    private(set) var settled = 1
    /// The number of connections that should run now.
    private(set) var wanted = 1
    private var phase = Phase.watching(nil, steadyFor: .zero)
    private var factor = 4
    /// The highest rate, falling by a tenth with each window.
    private var peak = 0.0
    private var pause = Self.firstPause
    private var hasTried = false

    init(most: Int) { self.most = max(1, most) }

    var isTrying: Bool {
        if case .trying = phase { true } else { false }
    }

    /// A window of measuring has ended.
    ///
    /// - Parameters:
    ///   - rate: Bytes a second of all connections.
    ///   - time: The window's length.
    ///   - usual: The length that windows have usually.
    ///   - begun: The number of connections that received bytes during the whole window.
    ///   - mayBegin: True if the first trial may begin.
    ///   - mayGoOn: True if another one may.
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
            // Behind its peak the rate falls; where packets are lost it is never steady.
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
        // Two windows: one alone may have got what the one before it was late with.
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

    /// A connection has failed, and so many are left.
    mutating func lostConnection(leaving count: Int, at now: MonotonicTime) {
        wanted = max(1, min(wanted, count))
        settled = min(settled, wanted)
        rest(at: now)
    }

    /// Connections of a source that is put aside are not among those that are tried any more.
    mutating func excuse(leaving count: Int) { wanted = max(settled, min(wanted, count)) }

    /// There may be so many from now on.
    mutating func allow(_ count: Int) {
        most = max(1, count)
        wanted = min(wanted, most)
        settled = min(settled, most)
    }

    /// There will never be more than so many again.
    mutating func limit(to count: Int) {
        most = max(1, min(most, count))
        wanted = min(wanted, most)
        settled = min(settled, most)
        phase = .watching(nil, steadyFor: .zero)
    }
}
