import CLinux
import FoundationEssentials
import Glibc

/// Times in the index: whole milliseconds since 1970.
extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// 0 for a date that no index can hold.
    var milliseconds: Int64 {
        let value = timeIntervalSince1970 * 1000
        return value.isFinite && abs(value) < 9e15 ? Int64(value) : 0
    }

    /// The date as an end; `nil`, which means no end, for one that is too late for the index.
    var expiry: Int64? { timeIntervalSince1970 < 9e12 ? milliseconds : nil }
}

extension Duration {
    /// Whole milliseconds, limited to what a date in the index can be added to.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return max(-9_000_000_000_000, min(seconds, 9_000_000_000_000)) * 1000 + attoseconds / 1_000_000_000_000_000
    }
}

extension Date {
    /// Sets the modification time of an open file, if its file system and its owner permit it.
    func setModificationTime(of descriptor: Int32) {
        guard timeIntervalSince1970.isFinite, abs(timeIntervalSince1970) < 9e15 else { return }
        let seconds = timeIntervalSince1970.rounded(.down)
        let nanoseconds = Int((timeIntervalSince1970 - seconds) * 1e9)
        // UTIME_OMIT, which is a macro: the access time is left as it is.
        let times = [timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2), timespec(tv_sec: Int(seconds), tv_nsec: nanoseconds)]
        _ = futimens(descriptor, times)
    }
}

/// The monotonic clock, some milliseconds coarse, read without a system call.
enum CoarseClock {
    /// In milliseconds.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
