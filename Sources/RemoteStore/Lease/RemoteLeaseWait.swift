/// Decides how long a machine waits for another one that holds the lease of a key. It is a value without a clock and without I/O.
///
/// The store's clock alone determines the age of a lease. If the store reports no times, the age is the time for which the lease was seen
/// unchanged.
package struct RemoteLeaseWait: Sendable {
    /// The next thing to do.
    package enum Step: Sendable, Hashable {
        /// Look up the object, then the lease, after a pause.
        case look(after: Duration)
        /// Try to take over from the holder, which has not renewed this lease.
        case takeOver(tag: String)
        /// Continue to the origin without a lease.
        case proceed
    }

    private static let firstPause = Duration.milliseconds(20)
    private static let longestPause = Duration.milliseconds(250)

    private let leaseTime: Duration
    private let limit: Duration
    private let began: ContinuousClock.Instant
    private var pause = firstPause
    /// The lease as last seen, and the time at which this state was first seen.
    private var seen: (lease: RemoteReading, since: ContinuousClock.Instant)?
    /// The time at which another machine turned out to have taken over the lease.
    private var refusedAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - leaseTime: The age at which a lease expires.
    ///   - limit: The total time to wait.
    package init(leaseTime: Duration, limit: Duration, at now: ContinuousClock.Instant) {
        self.leaseTime = leaseTime
        self.limit = limit
        began = now
    }

    /// The next step, after the object was not found.
    package mutating func next(_ lease: RemoteReading, at now: ContinuousClock.Instant) -> Step {
        // The lease was released without an object: the response cannot be shared, or the holder has failed.
        guard case .object = lease.content, let tag = lease.tag else { return .proceed }
        guard now - began < limit else { return .proceed }
        if isExpired(lease, at: now) {
            guard let refusedAt else { return .takeOver(tag: tag) }
            // The new holder should have renewed the lease by now.
            if now - refusedAt >= leaseTime { return .proceed }
        } else {
            refusedAt = nil
        }
        defer { pause = min(pause * 2, Self.longestPause) }
        return .look(after: min(pause, limit - (now - began)))
    }

    /// Records that another machine has taken over the lease.
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
