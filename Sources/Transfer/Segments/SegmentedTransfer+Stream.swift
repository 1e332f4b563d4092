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
    func held() -> HeldPartial? { alone { sink.held() } ?? nil }

    /// Returns false for a divided body: other connections fetch the rest.
    func canRestart() -> Bool { alone { sink.canRestart() } ?? false }

    /// Calls the sink, or returns `nil` if the body is divided. The body is not divided during the call.
    private func alone<Result>(_ call: () throws -> Result) rethrows -> Result? {
        let isAlone = state.withLock { state in
            state.isStreamAtSink = !state.isDivided
            return state.isStreamAtSink
        }
        guard isAlone else { return nil }
        defer { state.withLock { $0.isStreamAtSink = false } }
        return try call()
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        let hasBegun: Void? = try alone {
            state.withLock { state in
                state.planner = nil
                state.head = head
            }
            var held: HeldPartial?
            if case .range = placement { held = sink.held() }
            try sink.begin(head, placement)
            let (unit, resumable) = (sink.segmentUnit, held == nil ? nil : sink.held())
            line.noteLimit()
            state.withLock { state in
                state.resumable = resumable
                begin(placement, held, unit, &state)
            }
        }
        // The representation may have changed: then the other connections receive bytes of the old one.
        if hasBegun == nil { throw StreamRestart() }
    }

    private func begin(
        _ placement: BodyPlacement, _ held: HeldPartial?, _ unit: Int64?, _ state: inout State
    ) {
        let time = now()
        switch placement {
        case .whole(let length):
            state.count.beginWhole()
            guard let length, length > 0 else { return }
            plan(missing: [0..<length], stream: 0..<length, total: length, in: unit, at: time, &state)
        case .range(let range, let total):
            state.count.begin(held: held?.heldBytes ?? 0)
            let missing = (held?.missing ?? [range]).map { $0.lowerBound..<min($0.upperBound, total) }
            plan(missing: missing, stream: range, total: total, in: unit, at: time, &state)
        case .alreadyComplete(let total): state.count.begin(held: total)
        }
    }

    private func plan(
        missing: [Range<Int64>], stream: Range<Int64>, total: Int64, in unit: Int64?, at time: MonotonicTime,
        _ state: inout State
    ) {
        var rules = SegmentPlanner.Rules()
        let places = places(state, rules)
        guard let unit, places.reduce(0, +) > 1,
            missing.reduce(0, { $0 + Int64($1.count) }) >= rules.leastRest
        else { return }
        rules.unit = unit
        state.total = total
        state.planner = SegmentPlanner(
            missing: missing, stream: stream, requestedEnd: stream.upperBound, latency: time - state.requestedAt,
            rules: rules, sources: places, at: time)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        guard let result = try alone({ try writeAlone(bytes) }) else {
            return try write(bytes, of: SegmentPlanner.stream)
        }
        let actions = next()
        if !actions.isEmpty { perform(actions) }
        return result
    }

    private func writeAlone(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        let result = try sink.write(bytes)
        guard case .accepted = result else { return result }
        let (isPlanned, isFirst) = state.withLock { state in
            state.count.held += Int64(bytes.count)
            state.count.taken += Int64(bytes.count)
            guard let room = state.planner?.room(for: SegmentPlanner.stream, wanting: Int64(bytes.count)) else {
                return (false, false)
            }
            state.planner?.received(room, by: SegmentPlanner.stream, at: now())
            return (true, state.resumable == nil)
        }
        if isPlanned { line.noteLimit() }
        if isFirst {
            let resumable = sink.held()
            state.withLock { $0.resumable = resumable }
        }
        return result
    }

    func writeBatchComplete() { line.writeBatchComplete() }

    func end(_ ending: AttemptEnding) throws {
        let hasEnded: Void? = try alone {
            state.withLock { $0.planner = nil }
            try sink.end(ending)
        }
        if hasEnded != nil { return }
        let actions = state.withLock { state -> [SegmentPlanner.Action] in
            guard ending == .discarded else {
                return state.planner?.ended(SegmentPlanner.stream, ending == .complete ? .done : .failed) ?? []
            }
            // The bytes of the others would belong to the representation that is dropped.
            defer { state.planner = nil }
            return state.planner?.stopOthers() ?? []
        }
        line.end(ending)
        perform(actions + next())
        try checkLine()
        if ending == .discarded { throw StreamRestart() }
    }

    // MARK: Additional ranges

    /// The transport below delivers the stream's bytes in order: only the planner divides the body.
    var segmentUnit: Int64? { nil }

    var segmentLimit: Int64? { sink.segmentLimit }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws { try sink.write(bytes, at: offset) }

    func heldBytes(_ range: Range<Int64>) -> [UInt8]? { sink.heldBytes(range) }

    func verifyBody() throws { try sink.verifyBody() }
}
