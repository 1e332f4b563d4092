public import FoundationEssentials
import Glibc

/// The two times that a memory cache knows: one for people, one for time limits. Order has no need of either.
public struct MemoryCacheClock: Sendable {
    /// The wall clock, for dates that are shown. It may step in either direction.
    public var date: @Sendable () -> Date

    /// Time since some moment, which never steps back: for time limits.
    public var elapsed: @Sendable () -> Duration

    public init(date: @escaping @Sendable () -> Date, elapsed: @escaping @Sendable () -> Duration) {
        self.date = date
        self.elapsed = elapsed
    }

    /// The system's: dates to the kernel's tick (1 to 10 ms), which cost a fifth of exact ones; time limits go on while
    /// the machine is suspended.
    public static let system = MemoryCacheClock(
        date: {
            let time = read(CLOCK_REALTIME_COARSE)
            return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
        },
        elapsed: {
            let time = read(CLOCK_BOOTTIME)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        })

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
