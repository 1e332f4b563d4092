import ConcurrencyPrimitives

/// One transfer of a body over one connection or several: the stream's sink, and the one who starts and ends the others.
///
/// As long as no further connection was started, everything is passed on as it comes. From then on the stream is one connection of
/// several: its failure ends the transfer only when no other one brings the rest, and what is left when all have ended is
/// fetched by another stream, which resumes as ever.
final class SegmentedTransfer: BodySink {
    struct State {
        var planner: SegmentPlanner?
        /// The partial that further connections resume; nil before the first.
        var basis: HeldPartial?
        /// The sources besides the stream's.
        var further: [FurtherSource] = []
        /// The head that the body began with.
        var head: ResponseHead?
        /// The most connections, from what was learned in earlier rounds.
        var mostConnections: Int
        /// Why the sink took no more.
        var failure: (any Error)?
        /// The planner gave the stream's hole away.
        var isStreamStopped = false
        /// The time of the stream's present request.
        var requestedAt: MonotonicTime
        /// The length of the body that the planner divides.
        var total: Int64 = 0
        var isAttached = false
        /// No connection is started any more.
        var isOver = false
        var count = SegmentCounts()

        /// True from the start of the first further connection on.
        var isDivided: Bool { basis != nil }
    }

    let base: any HTTPTransport
    let request: TransferRequest
    private let startedAt: MonotonicTime
    let sink: any BodySink
    let now: @Sendable () -> MonotonicTime
    private let events: @Sendable (TransferEvent) -> Void
    let controls = SegmentControls()
    /// Held while the sink is called: connections may come on several threads.
    let state: Locked<State>

    init(
        _ request: TransferRequest, into sink: any BodySink, over base: any HTTPTransport,
        now: @escaping @Sendable () -> MonotonicTime, events: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.request = request
        self.sink = sink
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
            // The host has been reached; and the retries of all rounds together have the time of one.
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

    /// Waits for the further connections.
    private func othersEnded() async {
        guard controls.hasOthers else { return }
        let watch = startWatch()
        await withTaskCancellationHandler {
            await controls.othersEnded()
            await watch.end()
            // Those that the watch has started at last.
            await controls.othersEnded()
        } onCancel: {
            controls.cancel()
        }
    }

    /// True when the end of the stream is the end of all: the sink wants no more, or the caller.
    private func ends(_ stream: Result<TransferResult, TransferError>) -> Bool {
        let (failure, isStopped) = state.withLock { ($0.failure, $0.isStreamStopped) }
        if failure != nil || controls.isCancelled { return true }
        switch stream {
        case .success(let result): return result.outcome != .body
        case .failure(let error):
            if error.code == .cancelled { return !isStopped }
            return error.code == .refusedBySink && !(error.cause is SegmentEnd)
        }
    }

    /// The outcome, when nothing runs any more; `nil`: another stream fetches the rest.
    private func result(
        of stream: Result<TransferResult, TransferError>
    ) throws(TransferError) -> TransferResult? {
        let (failure, head, isComplete, count) = state.withLock { state in
            (state.failure, state.head, state.planner?.isComplete ?? false, state.count)
        }
        if let failure {
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
        state.withLock { state in
            state.mostConnections = state.planner?.mostToStream ?? 1
            state.planner = nil
            state.basis = nil
            state.isStreamStopped = false
        }
        return nil
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

    private func tell(_ event: TransferEvent) {
        switch event {
        case .attempt:
            let time = now()
            state.withLock { $0.requestedAt = time }
            events(event)
        case .received(_, let total):
            let held = state.withLock { $0.isDivided ? $0.count.held : nil }
            events(held.map { .received($0, total: total) } ?? event)
        default: events(event)
        }
    }

    /// A further connection's events: progress, and its heads for whoever traces them.
    func tellOfSegment(_ event: TransferEvent) {
        switch event {
        case .received, .requestHead, .responseHead: tell(event)
        default: break
        }
    }
}
