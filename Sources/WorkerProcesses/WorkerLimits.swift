/// The bounds of a worker process over its life.
package struct WorkerLimits: Sendable {
    /// Bytes of memory that it may have beside those that every worker begins with. Default 1 GiB.
    package var memory = 1 << 30
    /// Seconds of CPU time after which the system ends it. Default an hour; it is replaced after half of them.
    package var seconds = 3600
    /// Pieces of work after which it is replaced. Default 1,000.
    package var requests = 1_000

    package init() {}
}
