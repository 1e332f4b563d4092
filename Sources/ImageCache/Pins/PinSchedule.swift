import DiskStore

/// Decides when to resume and refresh sets of pins. Missing members are due immediately, and refreshes when the set's interval is over. A
/// failed set is retried after a minute, then after twice the previous delay, up to an hour or the set's own interval.
struct PinSchedule {
    private struct Retry {
        var next: Int64
        var delay: Int64
    }

    /// All times are in milliseconds.
    static let shortest: Int64 = 1000
    /// The longest delay between two reads of the index, in which other processes may have created sets.
    static let longest: Int64 = 60_000
    private static let longestRetry: Int64 = 3_600_000
    /// The longest interval of a set, in seconds. Longer ones, which say that a set is never refreshed, have no number of milliseconds.
    static let longestInterval: Int64 = 9_000_000_000_000

    private var retries: [Int64: Retry] = [:]

    /// The sets that have something to download or revalidate now.
    func due(_ sets: [PinSetState], now: Int64) -> [PinSetState] { sets.filter { wait(for: $0, now: now) == 0 } }

    /// Records the state of a set after an attempt.
    mutating func tried(_ set: PinSetState, now: Int64) {
        guard Self.work(for: set, now: now) == 0 else {
            retries[set.set] = nil
            return
        }
        let most =
            set.interval < 0 ? Self.longestRetry : max(Self.longest, min(Self.interval(of: set), Self.longestRetry))
        let delay = min(retries[set.set].map { $0.delay * 2 } ?? Self.longest, most)
        retries[set.set] = Retry(next: now + delay, delay: delay)
    }

    /// The delay until the next call of ``due(_:now:)``.
    func wait(_ sets: [PinSetState], now: Int64) -> Int64 {
        let next = sets.compactMap { wait(for: $0, now: now) }.min() ?? Self.longest
        return max(Self.shortest, min(next, Self.longest))
    }

    private func wait(for set: PinSetState, now: Int64) -> Int64? {
        guard let work = Self.work(for: set, now: now) else { return nil }
        // If a retry is further ahead than its delay, the clock was set back, and the retry is ignored.
        guard let retry = retries[set.set], retry.next - now <= retry.delay else { return work }
        return max(work, retry.next - now)
    }

    /// The delay until a set needs a download or a refresh, or `nil` if it never does.
    private static func work(for set: PinSetState, now: Int64) -> Int64? {
        if set.present < set.total { return 0 }
        guard set.interval >= 0, set.total > 0 else { return nil }
        let age = now - set.oldestCheck
        return age < 0 ? 0 : max(0, interval(of: set) - age)
    }

    /// The seconds of an interval, as they are saved: rounded up.
    static func interval(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        if seconds >= longestInterval { return longestInterval }
        return max(0, seconds + (attoseconds > 0 ? 1 : 0))
    }

    /// A set's interval. The index may have a longer one than is saved now.
    private static func interval(of set: PinSetState) -> Int64 { min(set.interval, longestInterval) * 1000 }
}
