import ConcurrencyPrimitives

/// The controls of a transfer over several connections: the controls of each connection, and the tasks of all but the stream.
final class SegmentControls: TransferControl {
    private struct State {
        var connections: [SegmentPlanner.ID: any TransferControl] = [:]
        /// The offsets before which connections pause.
        var ends: [SegmentPlanner.ID: Int64] = [:]
        var priority: TransferPriority?
        var tasks: [SegmentPlanner.ID: Task<Void, Never>] = [:]
        /// True if the transfer was cancelled as a whole.
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Sets the controls of the stream when it starts, also when it is started again.
    func attach(_ stream: any TransferControl) {
        let (isCancelled, priority) = state.withLock { state in
            state.connections[SegmentPlanner.stream] = stream
            state.ends[SegmentPlanner.stream] = nil
            return (state.isCancelled, state.priority)
        }
        if isCancelled { stream.cancel() }
        if let priority { stream.prioritize(priority) }
    }

    /// Sets the controls of a connection other than the stream.
    func attach(_ connection: any TransferControl, of id: SegmentPlanner.ID) {
        let end = state.withLock { state in
            state.connections[id] = connection
            return state.ends[id]
        }
        if let end { connection.pause(at: end) }
    }

    /// Resumes the stream.
    func resume() { self[SegmentPlanner.stream]?.resume() }

    subscript(_ id: SegmentPlanner.ID) -> (any TransferControl)? { state.withLock { $0.connections[id] } }

    /// Pauses each connection at the end of its hole, so that it receives no bytes that another connection fetches.
    func pause(at ends: [(id: SegmentPlanner.ID, offset: Int64)]) {
        for (id, offset) in ends {
            let connection = state.withLock { state -> (any TransferControl)? in
                guard state.ends[id] != offset else { return nil }
                state.ends[id] = offset
                return state.connections[id]
            }
            connection?.pause(at: offset)
        }
    }

    func prioritize(_ priority: TransferPriority) {
        let stream = state.withLock { state in
            state.priority = priority
            return state.connections[SegmentPlanner.stream]
        }
        stream?.prioritize(priority)
    }

    func cancel() {
        let (stream, tasks) = state.withLock { state in
            state.isCancelled = true
            return (state.connections[SegmentPlanner.stream], Array(state.tasks.values))
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
        let (stream, task) = state.withLock { (id == SegmentPlanner.stream ? $0.connections[id] : nil, $0.tasks[id]) }
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

    func remove(_ id: SegmentPlanner.ID) {
        state.withLock { state in
            state.tasks[id] = nil
            state.connections[id] = nil
            state.ends[id] = nil
        }
    }
}
