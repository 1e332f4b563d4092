import ConcurrencyPrimitives
import HTTPTypes

// The additional connections.

extension SegmentedTransfer {
    /// The use of a piece that a connection has received.
    struct Use {
        /// The parts of the piece that are written, and their offsets in the body.
        var parts: [(range: Range<Int>, position: Int64)] = []
        /// True if the connection is at a cut.
        var isAtCut = false
        var actions: [SegmentPlanner.Action] = []
    }

    /// Writes the bytes of a connection that belong to its holes to the sink.
    func write(_ bytes: UnsafeRawBufferPointer, of id: SegmentPlanner.ID) throws -> WriteResult {
        guard line.hasRoom(orResume: controls[id]) else { return .pause }
        let use = state.withLock { self.use(of: bytes.count, by: id, &$0) }
        for part in use.parts { line.write(UnsafeRawBufferPointer(rebasing: bytes[part.range]), at: part.position) }
        perform(use.actions + next())
        try checkLine()
        if use.isAtCut { throw SegmentEnd() }
        return .accepted
    }

    private func use(of count: Int, by id: SegmentPlanner.ID, _ state: inout State) -> Use {
        var use = Use()
        var start = 0
        while start < count {
            guard let room = state.planner?.room(for: id, wanting: Int64(count - start)) else {
                use.isAtCut = true
                break
            }
            let end = start + Int(room.skipped + room.count)
            if room.count > 0 { use.parts.append((start + Int(room.skipped)..<end, room.position)) }
            let time = now()
            state.planner?.received(room, by: id, at: time)
            state.count.held += room.count
            state.count.taken += room.skipped + room.count
            if let source = state.planner?.connections[id]?.source, source > 0 {
                state.further[source - 1].received(room.count, at: time)
            }
            start = end
            guard let (goesOn, stopped) = state.planner?.goesOn(id) else { break }
            if let stopped { use.actions.append(.stop(stopped)) }
            if !goesOn {
                _ = state.planner?.ended(id, .done)
                use.isAtCut = true
                break
            }
            // More bytes than requested arrived: the transport reports this.
            if room.skipped + room.count == 0 { break }
        }
        return use
    }

    /// Ends all connections if the sink has refused bytes.
    func checkLine() throws {
        guard let failure = line.failure else { return }
        controls.cancel()
        throw failure
    }

    /// The planner's next actions; none if there is no partial that can be resumed.
    func next() -> [SegmentPlanner.Action] {
        state.withLock { state in
            guard !state.isOver, !controls.isCancelled, !state.isStreamAtSink,
                let actions = state.planner?.actions(at: now(), limit: line.segmentLimit), !actions.isEmpty
            else { return [] }
            if state.isDivided { return actions }
            guard let held = state.resumable, held.total == state.total, held.defect == nil else {
                state.planner = nil
                return []
            }
            state.basis = held
            state.count.isDivided = true
            return actions
        }
    }

    func perform(_ actions: [SegmentPlanner.Action]) {
        // Under the lock, so that connections receive the ends in the order of the planner's decisions.
        state.withLock { if $0.isDivided { controls.pause(at: $0.planner?.ends ?? []) } }
        for action in actions {
            switch action {
            case .start(let id, let range): start(id, range)
            case .stop(let id):
                if id == SegmentPlanner.stream { state.withLock { $0.isStreamStopped = true } }
                controls.stop(id)
            case .putAside(let source, let reason): putAside(source, reason)
            }
        }
    }

    private func start(_ id: SegmentPlanner.ID, _ range: Range<Int64>) {
        guard let source = state.withLock({ $0.planner?.connections[id]?.source }) else { return }
        let task = Task(executorPreference: executor) {
            let outcome: Result<TransferResult, TransferError>
            do throws(TransferError) {
                outcome = .success(try await self.fetch(range, for: id, from: source))
            } catch {
                outcome = .failure(error)
            }
            self.ended(id, of: source, outcome)
        }
        controls.add(task, of: id)
    }

    private func fetch(
        _ range: Range<Int64>, for id: SegmentPlanner.ID, from source: Int
    ) async throws(TransferError) -> TransferResult {
        guard source > 0, let own = request.furtherSources?.requests[source - 1] else {
            guard let basis = state.withLock({ $0.basis }) else {
                throw TransferError(.cancelled, url: request.url, "the body is not divided any more")
            }
            return try await base.run(request.ofSegment, into: SegmentSink(self, id, basis, range)) {
                self.tellOfSegment($0)
            }
        }
        let basis: HeldPartial
        switch try await self.basis(at: source, own.ofSegment) {
        case .failure(let refusal): return refusal.result
        case .success(let found): basis = found
        }
        return try await base.run(own.ofSegment, into: SegmentSink(self, id, basis, range)) { self.tellOfSegment($0) }
    }

    private func ended(
        _ id: SegmentPlanner.ID, of source: Int, _ outcome: Result<TransferResult, TransferError>
    ) {
        let actions = state.withLock { state in
            state.count.addFurther(outcome)
            // A stopped connection gives no information about its source.
            if source > 0, state.planner?.connections[id] != nil, let failure = outcome.failureOfSource {
                state.further[source - 1].failure = failure
            }
            return state.planner?.ended(id, SegmentPlanner.Ending(outcome)) ?? []
        }
        perform(actions + next())
        controls.remove(id)
    }
}

extension SegmentPlanner.Ending {
    init(_ outcome: Result<TransferResult, TransferError>) {
        switch outcome {
        case .success(let result):
            let status = result.head.status.code
            switch result.outcome {
            case .body: self = .done
            case .notModified: self = .differs
            case .status where status == 429 || status == 503: self = .refused
            case .status: self = RetryState.isRetryable(status: status) ? .failed : .differs
            }
        case .failure(let error):
            if error.cause is SegmentEnd {
                self = .done
            } else {
                self = error.cause is SegmentDifference || error.code == .protocolViolation ? .differs : .failed
            }
        }
    }
}
