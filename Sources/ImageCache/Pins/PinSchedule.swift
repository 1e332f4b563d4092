import DiskStore

/// The times at which sets of pins are gone on with while a process lives: at once what is missing, and what is to be refreshed when its
/// interval has passed. What fails is tried again after a minute, then after twice as long, up to an hour or the set's own interval.
struct PinSchedule {
    private struct Retry {
        var next: Int64
        var delay: Int64
    }

    /// In milliseconds, as all times here.
    static let shortest: Int64 = 1000
    /// Other processes make sets, too: the index is looked at so often.
    static let longest: Int64 = 60_000
    private static let longestRetry: Int64 = 3_600_000

    private var retries: [Int64: Retry] = [:]

    /// The sets of which something is to be downloaded or confirmed now.
    func due(_ sets: [PinSetState], now: Int64) -> [PinSetState] { sets.filter { wait(for: $0, now: now) == 0 } }

    /// Notes the state of a set after an attempt.
    mutating func tried(_ set: PinSetState, now: Int64) {
        guard Self.work(for: set, now: now) == 0 else {
            retries[set.set] = nil
            return
        }
        let most = set.interval < 0 ? Self.longestRetry : max(Self.longest, min(set.interval * 1000, Self.longestRetry))
        let delay = min(retries[set.set].map { $0.delay * 2 } ?? Self.longest, most)
        retries[set.set] = Retry(next: now + delay, delay: delay)
    }

    /// The time until the next look.
    func wait(_ sets: [PinSetState], now: Int64) -> Int64 {
        let next = sets.compactMap { wait(for: $0, now: now) }.min() ?? Self.longest
        return max(Self.shortest, min(next, Self.longest))
    }

    private func wait(for set: PinSetState, now: Int64) -> Int64? {
        guard let work = Self.work(for: set, now: now) else { return nil }
        // A retry that lies further ahead than its delay was noted before the clock was set back.
        guard let retry = retries[set.set], retry.next - now <= retry.delay else { return work }
        return max(work, retry.next - now)
    }

    /// The time until something of a set is to be done; `nil`: nothing ever.
    private static func work(for set: PinSetState, now: Int64) -> Int64? {
        if set.present < set.total { return 0 }
        guard set.interval >= 0, set.total > 0 else { return nil }
        let age = now - set.oldestCheck
        return age < 0 ? 0 : max(0, set.interval * 1000 - age)
    }
}
