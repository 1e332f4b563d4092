package import ConcurrencyPrimitives
import NIOCore

/// The connections that are open: so many at most, in all and of one client, and all of them told when the server stops.
package final class ConnectionRegistry: Sendable {
    private struct State {
        var limiter: ShareLimiter
        /// Those that were accepted, admitted or not.
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// Those that count against the limits, and for whom.
        var admitted: [ObjectIdentifier: Client] = [:]
        var isDraining = false
        var whenEmpty: CheckedContinuation<Void, Never>?
    }

    /// nil: nobody in particular.
    private struct Client { var name: String? }

    /// Connections that are accepted beyond the limit, to be told so: few where the limit is what descriptors there are.
    private let mostRefused: Int

    private let state: Locked<State>

    package init(_ limits: ShareLimiter.Limits) {
        state = Locked(State(limiter: ShareLimiter(limits)))
        mostRefused = min(256, max(1, limits.total / 16))
    }

    /// Connections that are served.
    package var count: Int { state.withLock { $0.limiter.used } }

    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Takes a connection in that was accepted. It is known from here on, so that a server that stops does not overlook it.
    ///
    /// - Returns: False: there are so many that it cannot even be told that it is refused.
    func accept(_ channel: any Channel) -> Bool {
        let isTaken = state.withLock { state in
            guard state.channels.count < state.limiter.limits.total + mostRefused else { return false }
            state.channels[ObjectIdentifier(channel)] = channel
            return true
        }
        if isTaken { channel.closeFuture.whenComplete { [self] _ in remove(channel) } }
        return isTaken
    }

    /// Counts an accepted connection, which is served unless this throws.
    ///
    /// - Parameter client: nil: one that speaks for many, to whom the limit in all applies alone.
    func admit(_ channel: any Channel, for client: String?) throws(ShareLimiter.Shortage) {
        try state.withLock { state throws(ShareLimiter.Shortage) in
            try state.limiter.take(for: client)
            state.admitted[ObjectIdentifier(channel)] = Client(name: client)
        }
    }

    private func remove(_ channel: any Channel) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            let id = ObjectIdentifier(channel)
            if let client = state.admitted.removeValue(forKey: id) { state.limiter.release(for: client.name) }
            state.channels[id] = nil
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
