/// Tells a process that is stopped, or waits for what does not come, from one that works: by its CPU time.
struct StandstillWatch {
    /// The time without any CPU time after which a process that is waited for is given up: one that is ready to run gets some within a
    /// fraction of it, on a machine however busy.
    static let patience: Duration = .seconds(10)

    private var seconds: Double
    private var since: ContinuousClock.Instant

    /// - Parameter seconds: The CPU time that the process has used so far.
    init(_ seconds: Double, at now: ContinuousClock.Instant) {
        self.seconds = seconds
        since = now
    }

    /// True if the process has used no CPU time for as long as it is waited for.
    mutating func isOver(_ seconds: Double, at now: ContinuousClock.Instant) -> Bool {
        if seconds != self.seconds { (self.seconds, since) = (seconds, now) }
        return now - since >= Self.patience
    }
}
