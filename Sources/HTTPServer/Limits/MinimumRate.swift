/// The minimum rate at which a client must send a request's content, or accept a response.
///
/// An average over the client's own time, without the time of the service or the origin.
package struct MinimumRate: Sendable, Hashable {
    /// The minimum in bytes per second, or 0 for none.
    package var bytesPerSecond: Int
    /// The time that a client has in addition to that for its bytes at the minimum rate, because connections may stall
    /// for seconds.
    package var grace: Duration = .seconds(10)

    package init(bytesPerSecond: Int, grace: Duration = .seconds(10)) {
        self.bytesPerSecond = bytesPerSecond
        self.grace = grace
    }

    /// The time left after `elapsed` for this number of bytes in total; nil: unlimited. Not less than 0.
    func timeLeft(for bytes: Int64, after elapsed: Duration) -> Duration? {
        guard bytesPerSecond > 0 else { return nil }
        let (seconds, rest) = bytes.quotientAndRemainder(dividingBy: Int64(bytesPerSecond))
        let allowed = grace + .seconds(seconds) + .milliseconds(rest * 1000 / Int64(bytesPerSecond))
        return max(.zero, allowed - elapsed)
    }
}
