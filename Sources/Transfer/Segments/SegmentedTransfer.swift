import ConcurrencyPrimitives

/// The transfer of one body over one or several connections. It is the sink of the stream, and starts and ends the other connections.
///
/// Before the first additional connection, everything is passed on as it arrives. After that, the stream is one of several connections. Its failure
/// ends the transfer only if no other connection fetches the rest. Bytes that are missing when all connections have ended are fetched by another
/// stream, as in any resumed transfer.
final class SegmentedTransfer: BodySink {
    struct State {
        var planner: SegmentPlanner?
        /// The partial that additional connections resume; `nil` before the first one.
        var basis: HeldPartial?
        /// The partial that the first additional connection would resume; `nil` before the first bytes of the stream.
        var resumable: HeldPartial?
        /// True during a call of the sink by the stream, before the body is divided.
        var isStreamAtSink = false
        /// The sources other than the stream's.
        var further: [FurtherSource] = []
        /// The head that the body began with.
        var head: ResponseHead?
        /// The largest number of connections, as learned in earlier rounds.
        var mostConnections: Int
        /// True if the planner gave the stream's hole away.
        var isStreamStopped = false
        /// The time of the stream's current request.
        var requestedAt: MonotonicTime
        /// The length of the body that the planner divides.
        var total: Int64 = 0
        var isAttached = false
        /// True if no connection may be started any more.
        var isOver = false
        var count = SegmentCounts()
        /// The most bytes that were held at the end of a round.
        var furthest: Int64 = 0
        /// The number of rounds since then.
        var fruitlessRounds = 0

        /// True after the start of the first additional connection.
        var isDivided: Bool { basis != nil }
    }

    let base: any HTTPTransport
    let request: TransferRequest
    private let startedAt: MonotonicTime
    let sink: any BodySink
    let now: @Sendable () -> MonotonicTime
    private let events: @Sendable (TransferEvent) -> Void
    /// Held while the progress is read and reported, so that a connection does not report less than another one has.
    private let reporting = Locked(())
    /// The threads on which the tasks of additional connections call the sink; `nil` for the cooperative pool.
    let executor: BlockingExecutor?
    let controls = SegmentControls()
    /// The calls of the sink while the body is divided. Before that, the stream calls it.
    let line: SinkLine
    let state: Locked<State>

    init(
        _ request: TransferRequest, into sink: any BodySink, over base: any HTTPTransport,
        on executor: BlockingExecutor? = nil, now: @escaping @Sendable () -> MonotonicTime,
        events: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.request = request
        self.sink = sink
        self.executor = executor
        line = SinkLine(sink)
        self.base = base
        self.now = now
        self.events = events
        startedAt = now()
        let further = (request.furtherSources?.requests ?? []).map { _ in FurtherSource() }
        state = Locked(State(further: further, mostConnections: request.options.maxSegments, requestedAt: now()))
    }

    // MARK: Rounds

    func run() async throws(TransferError) -> TransferResult {
        defer { tellEnds() }
        var request = request
        while true {
            let watch = startWatch()
            let stream = await runStream(request)
            await watch.end()
            let isDivided = state.withLock { $0.isDivided }
            if !isDivided || ends(stream) {
                state.withLock { $0.isOver = true }
                controls.stopOthers()
            }
            await othersEnded()
            if !isDivided { return try completed(stream) }
            if let result = try result(of: stream) { return result }
            // The host was reached. The retries of all rounds share the time limit of one.
            let retry = self.request.options.retry
            request.options.retry.maxUnreachableRetries = retry.maxRetries
            request.options.retry.maxTotalTime = retry.maxTotalTime.map { max(.zero, $0 - (now() - startedAt)) }
        }
    }

    private func runStream(_ request: TransferRequest) async -> Result<TransferResult, TransferError> {
        let outcome: Result<TransferResult, TransferError>
        do throws(TransferError) {
            outcome = .success(try await base.run(request, into: self, events: { self.tell($0) }))
        } catch {
            outcome = .failure(error)
        }
        state.withLock { $0.count.add(outcome) }
        return outcome
    }

    /// Waits until the additional connections have ended.
    private func othersEnded() async {
        guard controls.hasOthers else { return }
        let watch = startWatch()
        await withTaskCancellationHandler {
            await controls.othersEnded()
            await watch.end()
            // The watch may have started connections before its end.
            await controls.othersEnded()
        } onCancel: {
            controls.cancel()
        }
    }

    /// Returns true if the end of the stream ends the transfer: the sink refused bytes, or the caller cancelled it.
    private func ends(_ stream: Result<TransferResult, TransferError>) -> Bool {
        let isStopped = state.withLock { $0.isStreamStopped }
        if line.failure != nil || controls.isCancelled { return true }
        switch stream {
        case .success(let result): return result.outcome != .body
        case .failure(let error):
            if error.code == .cancelled { return !isStopped }
            return error.code == .refusedBySink && !(error.cause is SegmentEnd || error.cause is StreamRestart)
        }
    }

    /// The outcome after all connections have ended; `nil` if another stream must fetch the rest.
    private func result(
        of stream: Result<TransferResult, TransferError>
    ) throws(TransferError) -> TransferResult? {
        let (head, isComplete, count) = state.withLock { state in
            (state.head, state.planner?.isComplete ?? false, state.count)
        }
        if let failure = line.failure {
            throw completed(
                TransferError(.refusedBySink, url: url(stream), "the body could not be stored", cause: failure))
        }
        if isComplete, let head {
            tell(.received(count.held, total: count.held))
            return count.result(head)
        }
        if controls.isCancelled || Task.isCancelled {
            throw completed(TransferError(.cancelled, url: url(stream), "the transfer was cancelled"))
        }
        if ends(stream) { return try completed(stream) }
        try endRound(stream)
        state.withLock { state in
            state.mostConnections = state.planner?.mostToStream ?? 1
            state.planner = nil
            state.basis = nil
            state.resumable = nil
            state.isStreamStopped = false
        }
        return nil
    }

    /// Ends a round that another one must follow.
    ///
    /// - Throws: The failure of the stream if it is not retried: by the options of the request, or because several rounds have brought nothing.
    private func endRound(_ stream: Result<TransferResult, TransferError>) throws(TransferError) {
        guard case .failure(let error) = stream else { return }
        let (isStopped, fruitlessRounds) = state.withLock { state in
            state.fruitlessRounds = state.count.held > state.furthest ? 0 : state.fruitlessRounds + 1
            state.furthest = max(state.furthest, state.count.held)
            return (state.isStreamStopped, state.fruitlessRounds)
        }
        let retry = request.options.retry
        let isOwn = !isStopped && !(error.cause is SegmentEnd) && !(error.cause is StreamRestart)
        let isLate = retry.maxTotalTime.map { now() - startedAt >= $0 } ?? false
        guard isOwn && (retry.maxRetries == 0 || isLate) || fruitlessRounds > max(1, retry.maxRetries) else { return }
        throw completed(error)
    }

    private func url(_ stream: Result<TransferResult, TransferError>) -> String {
        if case .failure(let error) = stream { error.url } else { state.withLock { $0.head?.finalURL } ?? request.url }
    }

    private func completed(_ outcome: Result<TransferResult, TransferError>) throws(TransferError) -> TransferResult {
        switch outcome {
        case .success(let result): return state.withLock { $0.count.completed(result) }
        case .failure(let error): throw completed(error)
        }
    }

    private func completed(_ error: TransferError) -> TransferError { state.withLock { $0.count.completed(error) } }

    // MARK: Events

    func tell(_ event: TransferEvent) {
        switch event {
        case .attempt:
            let time = now()
            state.withLock { $0.requestedAt = time }
            events(event)
        case .received(_, let total):
            reporting.withLock { _ in
                let held = state.withLock { $0.isDivided ? $0.count.held : nil }
                events(held.map { .received($0, total: total) } ?? event)
            }
        default: events(event)
        }
    }

    /// Forwards the events of an additional connection: its progress and, for tracing, its heads.
    func tellOfSegment(_ event: TransferEvent) {
        switch event {
        case .received, .requestHead, .responseHead: tell(event)
        default: break
        }
    }
}
