import ConcurrencyPrimitives

// The sink of the stream.

extension SegmentedTransfer {
    func attach(_ transfer: any TransferControl) {
        controls.attach(transfer)
        let isFirst = state.withLock { state in
            defer { state.isAttached = true }
            return !state.isAttached
        }
        if isFirst { sink.attach(controls) }
    }

    /// `nil` between two ranges of a divided body: the planner distributes the rest.
    func held() -> HeldPartial? { state.withLock { $0.isDivided ? nil : sink.held() } }

    /// Returns false for a divided body: other connections fetch the rest.
    func canRestart() -> Bool { state.withLock { $0.isDivided ? false : sink.canRestart() } }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        let actions = try state.withLock { state in
            // The representation may have changed: then the other connections receive bytes of the old one.
            let actions = drop(&state)
            state.head = head
            var held: HeldPartial?
            if case .range = placement { held = sink.held() }
            try sink.begin(head, placement)
            begin(placement, held, &state)
            return actions
        }
        perform(actions)
    }

    /// Stops the other connections, so that only the stream fetches the body.
    private func drop(_ state: inout State) -> [SegmentPlanner.Action] {
        defer {
            state.planner = nil
            state.basis = nil
        }
        return state.planner?.stopOthers() ?? []
    }

    private func begin(_ placement: BodyPlacement, _ held: HeldPartial?, _ state: inout State) {
        let time = now()
        switch placement {
        case .whole(let length):
            state.count.beginWhole()
            guard let length, length > 0 else { return }
            plan(missing: [0..<length], stream: 0..<length, total: length, at: time, &state)
        case .range(let range, let total):
            state.count.begin(held: held?.heldBytes ?? 0)
            let missing = (held?.missing ?? [range]).map { $0.lowerBound..<min($0.upperBound, total) }
            plan(missing: missing, stream: range, total: total, at: time, &state)
        case .alreadyComplete(let total): state.count.begin(held: total)
        }
    }

    private func plan(
        missing: [Range<Int64>], stream: Range<Int64>, total: Int64, at time: MonotonicTime, _ state: inout State
    ) {
        var rules = SegmentPlanner.Rules()
        let places = places(state, rules)
        guard let unit = sink.segmentUnit, places.reduce(0, +) > 1,
            missing.reduce(0, { $0 + Int64($1.count) }) >= rules.leastRest
        else { return }
        rules.unit = unit
        state.total = total
        state.planner = SegmentPlanner(
            missing: missing, stream: stream, requestedEnd: stream.upperBound, latency: time - state.requestedAt,
            rules: rules, sources: places, at: time)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        let (result, actions) = try state.withLock { state -> (WriteResult?, [SegmentPlanner.Action]) in
            guard state.isDivided else {
                let result = try sink.write(bytes)
                guard case .accepted = result else { return (result, []) }
                state.count.held += Int64(bytes.count)
                guard let room = state.planner?.room(for: SegmentPlanner.stream, wanting: Int64(bytes.count)) else {
                    return (result, [])
                }
                state.planner?.received(room, by: SegmentPlanner.stream, at: now())
                return (result, next(&state))
            }
            state.count.present = 0
            let (isAtCut, actions) = try take(bytes, of: SegmentPlanner.stream, &state)
            if isAtCut { state.count.lastPieces += state.count.present }
            return (isAtCut ? nil : .accepted, actions)
        }
        perform(actions)
        guard let result else { throw SegmentEnd() }
        return result
    }

    func writeBatchComplete() { state.withLock { _ in sink.writeBatchComplete() } }

    func end(_ ending: AttemptEnding) throws {
        let actions = try state.withLock { state -> [SegmentPlanner.Action] in
            var actions: [SegmentPlanner.Action] = []
            if ending == .discarded || !state.isDivided {
                actions = drop(&state)
            } else {
                actions = state.planner?.ended(SegmentPlanner.stream, ending == .complete ? .done : .failed) ?? []
            }
            try sink.end(ending)
            return actions + next(&state)
        }
        perform(actions)
    }

    // MARK: Additional ranges

    /// The transport below delivers the stream's bytes in order: only the planner divides the body.
    var segmentUnit: Int64? { nil }

    var segmentLimit: Int64? { state.withLock { _ in sink.segmentLimit } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
        try state.withLock { _ in try sink.write(bytes, at: offset) }
    }

    func heldBytes(_ range: Range<Int64>) -> [UInt8]? { state.withLock { _ in sink.heldBytes(range) } }

    func verifyBody() throws { try sink.verifyBody() }
}
