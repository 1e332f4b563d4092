/// The time that a request's work in workers has taken.
package struct WorkerUse: Sendable, Hashable {
    /// Seconds of CPU time.
    package var seconds = 0.0
    /// Seconds of waiting for workers.
    package var waited = 0.0

    package init(seconds: Double = 0, waited: Double = 0) {
        self.seconds = seconds
        self.waited = waited
    }
}
