import HTTPCaching
import Locking
import Transfer

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

    /// The beginning of the response, for requests of other kinds for the same resource.
    enum ResponseStart: Sendable {
        /// It is an answer to them too, and its body can be followed.
        case shared(StoredResponse, version: Int)
        /// It is not: an error, something behind a redirect, something that must not be stored.
        case own
    }

    private struct Urgency {
        /// The highest that anybody wants.
        var priority = TransferPriority.background
        var transfer: (any TransferControl)?
    }

    let work: Work
    let responseStart = Promise<ResponseStart>()
    /// For readers that follow the body while it arrives.
    let growth = BodyGrowth()
    private let progress = Locked(Progress())
    private let urgency = Locked(Urgency())

    /// - Parameter onEnd: see ``SharedWork``.
    init(onEnd: @escaping @Sendable (Work) -> Void) { work = Work(onEnd: onEnd) }

    /// Starts the load. Called once, right after creation.
    func start(
        on executor: BlockingExecutor, priority: TaskPriority?, _ load: @escaping @Sendable (Flight) async -> Outcome
    ) {
        work.start(on: executor, priority: priority) { [self] () async throws(ImageCacheError) in
            let outcome = await load(self)
            responseStart.fulfill(.own)
            endProgress()
            return try outcome.get()
        }
    }

    /// `nil` when the flight has been abandoned already: start another one.
    func join() -> Interest? { work.join().map { Interest(flight: self, interest: $0) } }

    /// Stops the load for everybody.
    func cancelAll() { work.cancelAll() }

    // MARK: Priority

    /// The transfer that runs for the flight now, which was begun with that priority.
    func attach(_ transfer: any TransferControl, priority: TransferPriority) {
        let wanted = urgency.withLock { urgency in
            urgency.transfer = transfer
            urgency.priority = max(urgency.priority, priority)
            return urgency.priority
        }
        if wanted > priority { transfer.prioritize(wanted) }
    }

    /// Sees to it that the transfer is at least so urgent: somebody has joined.
    func raise(to priority: TransferPriority) {
        let transfer = urgency.withLock { urgency -> (any TransferControl)? in
            guard priority > urgency.priority else { return nil }
            urgency.priority = priority
            return urgency.transfer
        }
        transfer?.prioritize(priority)
    }

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
