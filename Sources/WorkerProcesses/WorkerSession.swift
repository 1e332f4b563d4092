/// Consecutive pieces of work with pauses between them. Each resumes where the last one ended.
///
/// The same worker does all pieces, and may keep state between them. The session does not reserve the worker: if no other worker is free
/// during a pause, other work takes it, and the next piece begins without the state. The session ends with its last reference.
package final class WorkerSession: Sendable {
    /// Unique among the sessions of a pool.
    package let number: Int
    private let pool: WorkerPool
    private let closeMessage: WorkerMessage

    init(number: Int, pool: WorkerPool, closeMessage: WorkerMessage) {
        self.number = number
        self.pool = pool
        self.closeMessage = closeMessage
    }

    deinit { pool.end(number, closeMessage) }
}
