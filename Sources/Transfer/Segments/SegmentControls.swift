import ConcurrencyPrimitives

/// The controls of a transfer over several connections: the controls of its stream, and the tasks of the other connections.
final class SegmentControls: TransferControl {
    private struct State {
        var stream: (any TransferControl)?
        var priority: TransferPriority?
        var tasks: [SegmentPlanner.ID: Task<Void, Never>] = [:]
        /// True if the transfer was cancelled as a whole.
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Sets the controls of the stream when it starts, also when it is started again.
    func attach(_ stream: any TransferControl) {
        let (isCancelled, priority) = state.withLock { state in
            state.stream = stream
            return (state.isCancelled, state.priority)
        }
        if isCancelled { stream.cancel() }
        if let priority { stream.prioritize(priority) }
    }

    func resume() { state.withLock { $0.stream }?.resume() }

    func prioritize(_ priority: TransferPriority) {
        let stream = state.withLock { state in
            state.priority = priority
            return state.stream
        }
        stream?.prioritize(priority)
    }

    func cancel() {
        let (stream, tasks) = state.withLock { state in
            state.isCancelled = true
            return (state.stream, Array(state.tasks.values))
        }
        stream?.cancel()
        for task in tasks { task.cancel() }
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: Connections

    func add(_ task: Task<Void, Never>, of id: SegmentPlanner.ID) {
        let isCancelled = state.withLock { state in
            state.tasks[id] = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Ends one connection.
    func stop(_ id: SegmentPlanner.ID) {
        let (stream, task) = state.withLock { (id == SegmentPlanner.stream ? $0.stream : nil, $0.tasks[id]) }
        stream?.cancel()
        task?.cancel()
    }

    /// Ends all connections but the stream.
    func stopOthers() {
        for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
    }

    /// True while a connection other than the stream runs.
    var hasOthers: Bool { state.withLock { !$0.tasks.isEmpty } }

    /// Waits until only the stream runs, including connections that are started meanwhile.
    func othersEnded() async {
        while let (id, task) = state.withLock({ $0.tasks.first }) {
            await task.value
            remove(id)
        }
    }

    func remove(_ id: SegmentPlanner.ID) { state.withLock { _ = $0.tasks.removeValue(forKey: id) } }
}
