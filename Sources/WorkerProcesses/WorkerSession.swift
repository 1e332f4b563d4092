/// Pieces of work that follow one another with pauses between them, and of which each goes on where the last one ended.
///
/// The worker of one piece gets the next one, too, and may keep what it needs for it. It is not held: while the session pauses and no
/// other worker is left, other work takes it, and the next piece begins without what was kept. The session ends with the last
/// reference to it.
package final class WorkerSession: Sendable {
    /// Unique among the sessions of a pool.
    package let number: Int
    private let pool: WorkerPool
    private let farewell: WorkerMessage

    init(number: Int, pool: WorkerPool, farewell: WorkerMessage) {
        self.number = number
        self.pool = pool
        self.farewell = farewell
    }

    deinit { pool.end(number, farewell) }
}
