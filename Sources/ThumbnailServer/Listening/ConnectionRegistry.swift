import Locking
import NIOCore

/// The connections that are open: so many at most, and all of them told when the server stops.
final class ConnectionRegistry: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isDraining = false
        var whenEmpty: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var count: Int { state.withLock { $0.channels.count } }

    /// False: there are too many already.
    func add(_ channel: any Channel) -> Bool {
        state.withLock {
            guard $0.channels.count < limit, !$0.isDraining else { return false }
            $0.channels[ObjectIdentifier(channel)] = channel
            return true
        }
    }

    func remove(_ channel: any Channel) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.channels[ObjectIdentifier(channel)] = nil
            guard state.channels.isEmpty else { return nil }
            defer { state.whenEmpty = nil }
            return state.whenEmpty
        }
        waiting?.resume()
    }

    /// Lets each connection finish the request under way; those that have not after `time` are closed.
    func drain(within time: Duration) async {
        let channels = state.withLock { state in
            state.isDraining = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(DrainEvent()) }
        let closer = Task {
            try await Task.sleep(for: time)
            for channel in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
        }
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if !state.channels.isEmpty { state.whenEmpty = continuation }
                return state.channels.isEmpty
            }
            if isEmpty { continuation.resume() }
        }
        closer.cancel()
    }
}
