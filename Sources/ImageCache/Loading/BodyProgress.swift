import ConcurrencyPrimitives
import DiskStore
import Glibc

/// The progress of a body, for readers that receive it while it arrives.
///
/// Without subscribers, only the bytes on disk are recorded. A new subscriber starts with those.
final class BodyProgress: Sendable {
    struct Snapshot: Sendable {
        /// A descriptor of the growing file, open as long as the subscription and the `BodyProgress` exist; -1 while no byte is on disk.
        var descriptor: Int32
        /// The number of bytes on disk, without a gap, from the body's start.
        var available: Int64
        /// The bytes that follow, which are still in memory.
        var tail: [UInt8]
        /// Increases when the body is restarted.
        var version: Int
    }

    private struct State {
        var descriptor: Int32 = -1
        var version = 0
        var isOver = false
        var latest: Snapshot?
        var subscribers: [Int: AsyncStream<Snapshot>.Continuation] = [:]
        var nextID = 0
        var superseded: [Int32] = []

        mutating func closeSuperseded() {
            for descriptor in superseded { close(descriptor) }
            superseded = []
        }
    }

    private let state = Locked(State())

    deinit {
        state.withLock { state in
            state.closeSuperseded()
            if state.descriptor >= 0 { close(state.descriptor) }
        }
    }

    /// The current state and each later one. A slow subscriber receives only the newest. The stream ends with the fetch.
    func subscribe() -> AsyncStream<Snapshot> {
        let (stream, continuation) = AsyncStream.makeStream(of: Snapshot.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state -> Int? in
            if let latest = state.latest { continuation.yield(latest) }
            guard !state.isOver else { return nil }
            state.nextID += 1
            state.subscribers[state.nextID] = continuation
            return state.nextID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.subscribers.removeValue(forKey: id) }
        }
        return stream
    }

    var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

    /// The number of times that the body was restarted.
    var version: Int { state.withLock { $0.version } }

    /// Starts a new body at byte 0. The earlier bytes belong to another version.
    func restart() {
        state.withLock { state in
            state.version += 1
            state.latest = nil
            if state.descriptor >= 0 { state.superseded.append(state.descriptor) }
            state.descriptor = -1
            // A subscriber may be reading one of them.
            if state.subscribers.isEmpty { state.closeSuperseded() }
        }
    }

    /// Publishes the bytes that were written since the last call.
    ///
    /// - Parameter isWhole: True if the body is complete and is not stored. Subscribers that begin later then also receive all of it.
    func advance(by writer: BodyWriter, isWhole: Bool = false) {
        let (snapshot, subscribers) = state.withLock { state -> (Snapshot?, [AsyncStream<Snapshot>.Continuation]) in
            let available = writer.availableEnd
            let hasSubscribers = isWhole || !state.subscribers.isEmpty
            guard hasSubscribers || available > state.latest?.available ?? 0 else { return (nil, []) }
            if state.descriptor < 0, available > 0 { state.descriptor = writer.readHandle() ?? -1 }
            guard state.descriptor >= 0 || available == 0 else { return (nil, []) }
            let snapshot = Snapshot(
                descriptor: state.descriptor, available: available, tail: hasSubscribers ? writer.tail : [],
                version: state.version)
            guard available > 0 || !snapshot.tail.isEmpty else { return (nil, []) }
            state.latest = snapshot
            return (snapshot, Array(state.subscribers.values))
        }
        guard let snapshot else { return }
        for subscriber in subscribers { subscriber.yield(snapshot) }
    }

    func finish() {
        let subscribers = state.withLock { state in
            state.isOver = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.finish() }
    }
}
