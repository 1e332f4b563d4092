import Glibc
import Units

/// A time of a monotonic clock, in nanoseconds. It has one word, because it is read for every transfer and every piece of a body.
struct MonotonicTime: Comparable, Sendable {
    var nanoseconds: Int64

    static var now: Self {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Self(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    static func + (left: Self, right: Duration) -> Self {
        let (sum, overflow) = left.nanoseconds.addingReportingOverflow(right.nanoseconds)
        return Self(nanoseconds: overflow ? .max : sum)
    }

    static func - (left: Self, right: Self) -> Duration { .nanoseconds(left.nanoseconds - right.nanoseconds) }
}

extension Duration {
    /// Whole milliseconds, at least 1 for a positive duration: 0 means "no limit" to libcurl.
    var milliseconds: Int {
        let nanoseconds = nanoseconds
        return nanoseconds <= 0 ? 0 : Int(max(1, min(nanoseconds / 1_000_000, Int64(Int32.max))))
    }

    /// The duration for messages: `30 s`, `0.25 s`.
    var text: String {
        let milliseconds = nanoseconds / 1_000_000
        let rest = milliseconds % 1000
        guard rest != 0 else { return "\(milliseconds / 1000) s" }
        var digits = String(1000 + rest).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(milliseconds / 1000).\(digits) s"
    }
}
