/// The workers of a pool that have nothing to do, and the number of the others. A decision without processes: whose worker is taken.
struct WorkerLine<Worker: AnyObject> {
    private struct Idle {
        let worker: Worker
        /// The session whose last piece of work it did.
        var session: Int?
    }

    private let width: Int
    /// The longest idle first.
    private var idle: [Idle] = []
    private var busy = 0

    /// - Parameter width: The most workers.
    init(width: Int) { self.width = width }

    var count: Int { idle.count + busy }

    /// Adds a worker that has nothing to do.
    mutating func add(_ worker: Worker) { idle.append(Idle(worker: worker)) }

    /// Takes the worker for a piece of work: its session's; one that belongs to no session; as the last of all the one whose session has
    /// paused longest.
    ///
    /// - Returns: Nil for a new one, which counts from now on.
    mutating func take(for session: Int? = nil) -> Worker? {
        busy += 1
        let own = session.flatMap { session in idle.firstIndex { $0.session == session } }
        if let index = own ?? idle.lastIndex(where: { $0.session == nil }) { return idle.remove(at: index).worker }
        // With this one.
        guard count > width, !idle.isEmpty else { return nil }
        return idle.removeFirst().worker
    }

    /// Gives a worker back whose work is done.
    mutating func release(_ worker: Worker, session: Int? = nil) {
        busy -= 1
        idle.append(Idle(worker: worker, session: session))
    }

    /// Counts a worker less that was taken, and has ended.
    mutating func lose() { busy -= 1 }

    /// Ends a session: takes its worker, which is to be released without one.
    ///
    /// - Returns: Nil if other work has taken the worker.
    mutating func leave(_ session: Int) -> Worker? {
        guard let index = idle.firstIndex(where: { $0.session == session }) else { return nil }
        busy += 1
        return idle.remove(at: index).worker
    }
}
