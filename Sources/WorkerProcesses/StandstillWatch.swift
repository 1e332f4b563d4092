/// Detects by its CPU time whether a process has stalled: it is stopped, or waits for something that never comes.
struct StandstillWatch {
    /// The time without CPU time after which a process counts as stalled. A process that is ready to run gets some within a fraction of it,
    /// even on a busy machine.
    static let patience: Duration = .seconds(10)

    private var seconds: Double
    private var since: ContinuousClock.Instant

    /// - Parameter seconds: The CPU time that the process has used so far.
    init(_ seconds: Double, at now: ContinuousClock.Instant) {
        self.seconds = seconds
        since = now
    }

    /// True if the process has used no CPU time for the whole of ``patience``.
    mutating func isOver(_ seconds: Double, at now: ContinuousClock.Instant) -> Bool {
        if seconds != self.seconds { (self.seconds, since) = (seconds, now) }
        return now - since >= Self.patience
    }
}
