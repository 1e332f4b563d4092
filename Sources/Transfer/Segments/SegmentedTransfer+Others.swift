import ConcurrencyPrimitives
import HTTPTypes

// The additional connections.

extension SegmentedTransfer {
    /// Writes the bytes of a connection that belong to its holes to the sink.
    ///
    /// - Returns: True if the connection is at a cut, and the next actions.
    func take(
        _ bytes: UnsafeRawBufferPointer, of id: SegmentPlanner.ID, _ state: inout State
    ) throws -> (isAtCut: Bool, [SegmentPlanner.Action]) {
        var actions: [SegmentPlanner.Action] = []
        var rest = bytes
        while !rest.isEmpty {
            guard let room = state.planner?.room(for: id, wanting: Int64(rest.count)) else { return (true, actions) }
            let part = UnsafeRawBufferPointer(rebasing: rest[Int(room.skipped)..<Int(room.skipped + room.count)])
            do { try sink.write(part, at: room.position) } catch {
                state.failure = state.failure ?? error
                throw error
            }
            let time = now()
            state.planner?.received(room, by: id, at: time)
            state.count.held += room.count
            if id == SegmentPlanner.stream {
                state.count.present += room.skipped + room.count
            } else {
                state.count.furtherBytes += room.skipped + room.count
            }
            if let source = state.planner?.connections[id]?.source, source > 0 {
                state.further[source - 1].received(room.count, at: time)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[Int(room.skipped + room.count)...])
            guard let (goesOn, stopped) = state.planner?.goesOn(id) else { break }
            if let stopped { actions.append(.stop(stopped)) }
            if !goesOn {
                _ = state.planner?.ended(id, .done)
                return (true, actions + next(&state))
            }
            // More bytes than requested arrived: the transport reports this.
            if room.skipped + room.count == 0 { break }
        }
        return (false, actions + next(&state))
    }

    /// The planner's next actions; none if there is no partial that can be resumed.
    func next(_ state: inout State) -> [SegmentPlanner.Action] {
        guard !state.isOver, let actions = state.planner?.actions(at: now(), limit: sink.segmentLimit),
            !actions.isEmpty, !controls.isCancelled
        else { return [] }
        guard state.basis == nil else { return actions }
        guard let held = sink.held(), held.total == state.total, held.defect == nil else {
            state.planner = nil
            return []
        }
        state.basis = held
        return actions
    }

    func perform(_ actions: [SegmentPlanner.Action]) {
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
        let task = Task {
            let outcome: Result<TransferResult, TransferError>
            do throws(TransferError) {
                outcome = .success(try await fetch(range, for: id, from: source))
            } catch {
                outcome = .failure(error)
            }
            ended(id, of: source, outcome)
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

    /// Writes bytes of an additional connection.
    func write(_ bytes: UnsafeRawBufferPointer, of id: SegmentPlanner.ID) throws {
        let (isAtCut, actions) = try state.withLock { try take(bytes, of: id, &$0) }
        perform(actions)
        if isAtCut { throw SegmentEnd() }
    }

    private func ended(
        _ id: SegmentPlanner.ID, of source: Int, _ outcome: Result<TransferResult, TransferError>
    ) {
        let (actions, failed) = state.withLock { state in
            state.count.addFurther(outcome)
            // A stopped connection gives no information about its source.
            if source > 0, state.planner?.connections[id] != nil, let failure = outcome.failureOfSource {
                state.further[source - 1].failure = failure
            }
            let actions = state.planner?.ended(id, SegmentPlanner.Ending(outcome)) ?? []
            return (actions + next(&state), state.failure != nil)
        }
        perform(actions)
        if failed { controls.cancel() }
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
