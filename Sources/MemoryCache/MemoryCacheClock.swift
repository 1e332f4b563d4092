public import FoundationEssentials
import Glibc

/// The clocks of a memory cache: one for displayed dates, one for time limits. The order of entries depends on neither.
public struct MemoryCacheClock: Sendable {
    /// The wall clock, for displayed dates. It may step in either direction.
    public var date: @Sendable () -> Date

    /// A monotonic clock, for time limits.
    public var elapsed: @Sendable () -> Duration

    public init(date: @escaping @Sendable () -> Date, elapsed: @escaping @Sendable () -> Duration) {
        self.date = date
        self.elapsed = elapsed
    }

    /// The system's clocks: dates at the kernel's resolution (1 to 10 ms), which cost a fifth of exact ones; time
    /// limits include time while the machine is suspended.
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
