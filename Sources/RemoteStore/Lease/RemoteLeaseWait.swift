/// Decides how long a machine waits for another one that has the lease of a key: a value, without a clock and without I/O.
///
/// The age of a lease is the store's own: no clock of a machine counts. Where the store tells no times, a lease is as old as it has been seen
/// unchanged.
package struct RemoteLeaseWait: Sendable {
    /// The next thing to do.
    package enum Step: Sendable, Hashable {
        /// Look for the object, then for the lease, after a pause.
        case look(after: Duration)
        /// Try to become the successor of the holder, who has not renewed this lease.
        case takeOver(tag: String)
        /// Ask the origin without a lease.
        case goOn
    }

    private static let firstPause = Duration.milliseconds(20)
    private static let longestPause = Duration.milliseconds(250)

    private let leaseTime: Duration
    private let limit: Duration
    private let began: ContinuousClock.Instant
    private var pause = firstPause
    /// The lease as it was last seen, and when it was first seen so.
    private var seen: (lease: RemoteReading, since: ContinuousClock.Instant)?
    /// When another machine turned out to be the successor.
    private var refusedAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - leaseTime: The age from which a lease is nobody's.
    ///   - limit: The time to wait in all.
    package init(leaseTime: Duration, limit: Duration, at now: ContinuousClock.Instant) {
        self.leaseTime = leaseTime
        self.limit = limit
        began = now
    }

    /// The next step, after the object was found missing.
    package mutating func next(_ lease: RemoteReading, at now: ContinuousClock.Instant) -> Step {
        // Released without an object: the response is of no use to others, or the holder has failed.
        guard case .object = lease.content, let tag = lease.tag else { return .goOn }
        guard now - began < limit else { return .goOn }
        if isExpired(lease, at: now) {
            guard let refusedAt else { return .takeOver(tag: tag) }
            // The successor should have renewed it by now.
            if now - refusedAt >= leaseTime { return .goOn }
        } else {
            refusedAt = nil
        }
        defer { pause = min(pause * 2, Self.longestPause) }
        return .look(after: min(pause, limit - (now - began)))
    }

    /// Notes that another machine is the successor.
    package mutating func refused(at now: ContinuousClock.Instant) { refusedAt = refusedAt ?? now }

    private mutating func isExpired(_ lease: RemoteReading, at now: ContinuousClock.Instant) -> Bool {
        if let age = lease.age { return age >= leaseTime }
        if let seen, seen.lease.tag == lease.tag, seen.lease.modified == lease.modified {
            return now - seen.since >= leaseTime
        }
        seen = (lease, now)
        return false
    }
}
