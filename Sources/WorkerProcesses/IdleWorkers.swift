/// The idle workers of a pool, and the number of busy ones. It chooses the worker for a piece of work, without handling processes itself.
struct IdleWorkers<Worker: AnyObject> {
    private struct Idle {
        let worker: Worker
        /// The session of the worker's last piece of work.
        var session: Int?
    }

    private let width: Int
    /// Longest idle first.
    private var idle: [Idle] = []
    private var busy = 0

    /// - Parameter width: The maximum number of workers.
    init(width: Int) { self.width = width }

    var count: Int { idle.count + busy }

    /// Adds an idle worker.
    mutating func add(_ worker: Worker) { idle.append(Idle(worker: worker)) }

    /// Takes a worker for a piece of work. It prefers the session's own worker, then one without a session, then the one whose session has
    /// paused the longest.
    ///
    /// - Returns: The worker, or nil if the caller must start a new one, which is already counted.
    mutating func take(for session: Int? = nil) -> Worker? {
        busy += 1
        let own = session.flatMap { session in idle.firstIndex { $0.session == session } }
        if let index = own ?? idle.lastIndex(where: { $0.session == nil }) { return idle.remove(at: index).worker }
        // The count already includes the new worker.
        guard count > width, !idle.isEmpty else { return nil }
        return idle.removeFirst().worker
    }

    /// Returns a worker that has finished its work.
    mutating func release(_ worker: Worker, session: Int? = nil) {
        busy -= 1
        idle.append(Idle(worker: worker, session: session))
    }

    /// Removes a worker that was taken, and has ended.
    mutating func lose() { busy -= 1 }

    /// Ends a session. The caller releases the worker without a session.
    ///
    /// - Returns: The session's worker, or nil if other work has taken it.
    mutating func leave(_ session: Int) -> Worker? {
        guard let index = idle.firstIndex(where: { $0.session == session }) else { return nil }
        busy += 1
        return idle.remove(at: index).worker
    }
}
