/// The least rate at which a client must send a request's content, or take a response.
///
/// It is an average over the time that is the client's own. The time that the service itself needs, or the origin, does not count.
package struct MinimumRate: Sendable, Hashable {
    /// 0: none.
    package var bytesPerSecond: Int
    /// The time that a client has beside what its bytes take at that rate: lines stall for seconds.
    package var grace: Duration = .seconds(10)

    package init(bytesPerSecond: Int, grace: Duration = .seconds(10)) {
        self.bytesPerSecond = bytesPerSecond
        self.grace = grace
    }

    /// The time that is left after `elapsed` for so many bytes in all; nil: there is no limit. Not less than 0.
    func timeLeft(for bytes: Int64, after elapsed: Duration) -> Duration? {
        guard bytesPerSecond > 0 else { return nil }
        let (seconds, rest) = bytes.quotientAndRemainder(dividingBy: Int64(bytesPerSecond))
        let allowed = grace + .seconds(seconds) + .milliseconds(rest * 1000 / Int64(bytesPerSecond))
        return max(.zero, allowed - elapsed)
    }
}
