import Locking

/// One load under way, shared by everybody who asked for the same thing, who may watch how far it is.
///
/// Each interested party holds an ``Interest``. The load is cancelled when the last one lets go before it is finished.
final class Flight: Sendable {
    typealias Work = SharedWork<CachedFile>
    typealias Outcome = Work.Outcome

    private struct Progress {
        var latest = DownloadProgress()
        var hasEnded = false
        var nextID = 0
        var watchers: [Int: AsyncStream<DownloadProgress>.Continuation] = [:]
    }

    let work: Work
    /// For readers that follow the body while it arrives.
    let growth = BodyGrowth()
    private let progress = Locked(Progress())

    /// - Parameter onEnd: see ``SharedWork``.
    init(onEnd: @escaping @Sendable (Work) -> Void) { work = Work(onEnd: onEnd) }

    /// Starts the load. Called once, right after creation.
    func start(
        on executor: BlockingExecutor, priority: TaskPriority?, _ load: @escaping @Sendable (Flight) async -> Outcome
    ) {
        work.start(on: executor, priority: priority) { [self] () async throws(ImageCacheError) in
            let outcome = await load(self)
            endProgress()
            return try outcome.get()
        }
    }

    /// `nil` when the flight has been abandoned already: start another one.
    func join() -> Interest? { work.join().map { Interest(flight: self, interest: $0) } }

    /// Stops the load for everybody.
    func cancelAll() { work.cancelAll() }

    // MARK: Progress

    var latest: DownloadProgress { progress.withLock { $0.latest } }

    /// Records progress and tells the watchers; a watcher that is busy sees only the newest value.
    func report(_ change: (inout DownloadProgress) -> Void) {
        let (latest, watchers) = progress.withLock { progress in
            change(&progress.latest)
            return (progress.latest, Array(progress.watchers.values))
        }
        for watcher in watchers { watcher.yield(latest) }
    }

    private func endProgress() {
        let watchers = progress.withLock { progress in
            progress.hasEnded = true
            defer { progress.watchers = [:] }
            return Array(progress.watchers.values)
        }
        growth.finish()
        for watcher in watchers { watcher.finish() }
    }

    private func watch() -> AsyncStream<DownloadProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: DownloadProgress.self, bufferingPolicy: .bufferingNewest(1))
        let id = progress.withLock { progress -> Int? in
            guard !progress.hasEnded else { return nil }
            progress.nextID += 1
            progress.watchers[progress.nextID] = continuation
            return progress.nextID
        }
        continuation.yield(latest)
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.progress.withLock { _ = $0.watchers.removeValue(forKey: id) }
        }
        return stream
    }

    /// One party's interest in a flight; letting go of the last one stops the load.
    struct Interest: Sendable {
        fileprivate let flight: Flight
        fileprivate let interest: Work.Interest

        func outcome() async -> Outcome { await interest.outcome() }

        func watch() -> AsyncStream<DownloadProgress> { flight.watch() }
    }
}
