import ConcurrencyPrimitives
import Transfer

/// The shared state of the work for one image: the fetch of its original, and its priority.
final class ImageWork: Sendable {
    private struct State {
        var priority: TransferPriority
        /// The fetches of the original in order: a look-up, or a download.
        var fetches: [Fetch] = []
        var hasEnded = false
        /// Fulfilled when any of these properties changes.
        var change = Promise<Void>()
    }

    private let state: Locked<State>

    init(priority: TransferPriority) { state = Locked(State(priority: priority)) }

    // MARK: Priority

    var priority: TransferPriority { state.withLock { $0.priority } }

    /// Raises the priority of the transfer, and of the decode if it is not yet queued.
    func raise(to priority: TransferPriority) {
        let fetch = state.withLock { state in
            state.priority = max(state.priority, priority)
            return state.fetches.last
        }
        fetch?.raise(to: priority)
    }

    // MARK: Progress

    /// Records a fetch of the original.
    func follow(_ fetch: Fetch) {
        let followed = state.withLock { state -> (priority: TransferPriority, change: Promise<Void>)? in
            // A job may be informed by its group and on its own.
            guard state.fetches.last !== fetch else { return nil }
            state.fetches.append(fetch)
            defer { state.change = Promise() }
            return (state.priority, state.change)
        }
        guard let followed else { return }
        fetch.raise(to: followed.priority)
        followed.change.fulfill(())
    }

    func end() {
        state.withLock { state in
            state.hasEnded = true
            return state.change
        }.fulfill(())
    }

    /// The progress of the fetches, from now until the work ends.
    func watch() -> AsyncStream<DownloadProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task { [self] in
                var seen = 0
                while let fetch = await next(after: seen) {
                    for await progress in fetch.watch() { continuation.yield(progress) }
                    seen += 1
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// The fetch with an index; `nil` if the work ended without it, or the calling task was cancelled.
    private func next(after count: Int) async -> Fetch? {
        while true {
            let (fetch, change) = state.withLock { state -> (Fetch?, Promise<Void>?) in
                if count < state.fetches.count { return (state.fetches[count], nil) }
                return (nil, state.hasEnded ? nil : state.change)
            }
            if let fetch { return fetch }
            guard let change, await change.value() != nil else { return nil }
        }
    }
}
