import Locking

/// One load under way, shared by everybody who asked for the same thing.
///
/// Each interested party holds an ``Interest``. The load is cancelled when the last one lets go before it is finished.
final class Flight: Sendable {
    typealias Outcome = Result<CachedFile, ImageCacheError>

    private struct State {
        var task: Task<Void, Never>?
        var outcome: Outcome?
        var interests = 0
        var abandoned = false
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Outcome, Never>] = [:]
        var watchers: [Int: AsyncStream<DownloadProgress>.Continuation] = [:]
        var latest = DownloadProgress()
    }

    /// For readers that follow the body while it arrives.
    let growth = BodyGrowth()
    private let state = Locked(State())
    private let onAbandoned: @Sendable (Flight) -> Void

    init(onAbandoned: @escaping @Sendable (Flight) -> Void) { self.onAbandoned = onAbandoned }

    /// Starts the load. Called once, right after creation.
    func start(
        on executor: BlockingExecutor, priority: TaskPriority?, _ load: @escaping @Sendable (Flight) async -> Outcome
    ) {
        let task = Task(executorPreference: executor, priority: priority) { self.finish(await load(self)) }
        let abandoned = state.withLock { state in
            state.task = task
            return state.abandoned
        }
        if abandoned { task.cancel() }
    }

    /// `nil` when the flight has been abandoned already: start another one.
    func join() -> Interest? {
        let joined = state.withLock { state in
            guard !state.abandoned else { return false }
            state.interests += 1
            return true
        }
        return joined ? Interest(self) : nil
    }

    fileprivate func leave() {
        let task = state.withLock { state -> Task<Void, Never>?? in
            state.interests -= 1
            guard state.interests == 0, state.outcome == nil else { return nil }
            state.abandoned = true
            return .some(state.task)
        }
        guard let task else { return }
        onAbandoned(self)
        task?.cancel()
    }

    /// Stops the load for everybody.
    func cancelAll() {
        let task = state.withLock { state in
            state.abandoned = true
            return state.task
        }
        onAbandoned(self)
        task?.cancel()
    }

    private func finish(_ outcome: Outcome) {
        let (waiters, watchers) = state.withLock { state in
            state.outcome = outcome
            state.task = nil
            defer { (state.waiters, state.watchers) = ([:], [:]) }
            return (Array(state.waiters.values), Array(state.watchers.values))
        }
        growth.finish()
        for watcher in watchers { watcher.finish() }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    /// The outcome, or `.cancelled` as soon as the calling task is cancelled.
    fileprivate func outcome() async -> Outcome {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: Outcome? = state.withLock { state in
                    if let outcome = state.outcome { return outcome }
                    if Task.isCancelled { return Self.cancelled }
                    state.waiters[id] = continuation
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: Self.cancelled)
        }
    }

    private static var cancelled: Outcome { .failure(ImageCacheError(.cancelled, message: "cancelled")) }

    // MARK: Progress

    var latest: DownloadProgress { state.withLock { $0.latest } }

    /// Records progress and tells the watchers; a watcher that is busy sees only the newest value.
    func report(_ change: (inout DownloadProgress) -> Void) {
        let (progress, watchers) = state.withLock { state in
            change(&state.latest)
            return (state.latest, Array(state.watchers.values))
        }
        for watcher in watchers { watcher.yield(progress) }
    }

    fileprivate func watch() -> AsyncStream<DownloadProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: DownloadProgress.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state -> Int? in
            guard state.outcome == nil else { return nil }
            state.nextID += 1
            state.watchers[state.nextID] = continuation
            return state.nextID
        }
        continuation.yield(latest)
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.watchers.removeValue(forKey: id) }
        }
        return stream
    }

    /// One party's interest in a flight; letting go of the last one stops the load.
    final class Interest: Sendable {
        private let flight: Flight

        fileprivate init(_ flight: Flight) { self.flight = flight }

        deinit { flight.leave() }

        func outcome() async -> Outcome { await flight.outcome() }

        func watch() -> AsyncStream<DownloadProgress> { flight.watch() }
    }
}
