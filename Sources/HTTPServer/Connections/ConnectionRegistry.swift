package import ConcurrencyPrimitives
import NIOCore

/// The open connections: limited in total and for each client, and notified of a shutdown.
package final class ConnectionRegistry: Sendable {
    private struct State {
        var limiter: ShareLimiter
        /// The accepted connections, admitted or not.
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// The connections that count against the limits, with their clients.
        var admitted: [ObjectIdentifier: Client] = [:]
        /// The connections that get an error response.
        var refused: Set<ObjectIdentifier> = []
        /// The connections that are neither served nor refused yet.
        var pendingAdmissions: Set<ObjectIdentifier> = []
        /// Called once when `pendingAdmissions` becomes empty.
        var whenDecided: (@Sendable () -> Void)?

        mutating func decided(_ id: ObjectIdentifier) -> (@Sendable () -> Void)? {
            guard pendingAdmissions.remove(id) != nil, pendingAdmissions.isEmpty else { return nil }
            defer { whenDecided = nil }
            return whenDecided
        }
        var isDraining = false
        var whenEmpty: CheckedContinuation<Void, Never>?
    }

    /// `nil` if the connection is not attributed to a client.
    private struct Client { var name: String? }

    /// The reason for which a connection is not served.
    enum Rejection: Error, Hashable {
        /// It gets an error, which the client has time to read.
        case response(ShareLimiter.Shortage)
        /// The connection is closed without a response, because too many connections already get an error.
        case closing(ShareLimiter.Shortage)
    }

    /// The number of concurrent connections that get an error response instead of being served. It is small, because the limit may be that
    /// of descriptors, and one client can open many.
    private let mostRefused: Int

    private let state: Locked<State>

    package init(_ limits: ShareLimiter.Limits) {
        state = Locked(State(limiter: ShareLimiter(limits)))
        mostRefused = min(256, max(4, limits.total / 16))
    }

    /// The number of connections served.
    package var count: Int { state.withLock { $0.limiter.used } }

    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Registers an accepted connection. Known from here on, it is not missed by a shutdown.
    ///
    /// - Returns: False if there are too many to respond with an error.
    func accept(_ channel: any Channel) -> Bool {
        let isTaken = state.withLock { state in
            guard state.channels.count < state.limiter.limits.total + mostRefused else { return false }
            state.channels[ObjectIdentifier(channel)] = channel
            state.pendingAdmissions.insert(ObjectIdentifier(channel))
            return true
        }
        if isTaken { channel.closeFuture.whenComplete { [self] _ in remove(channel) } }
        return isTaken
    }

    /// Returns false if there may be room. Otherwise returns true, and calls `action` once a pending connection is served or refused: a
    /// connection that will be refused may occupy the slot of one that would be served.
    func waitsForDecisions(then action: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.channels.count >= state.limiter.limits.total, !state.pendingAdmissions.isEmpty else {
                return false
            }
            state.whenDecided = action
            return true
        }
    }

    /// Counts an accepted connection, which is served unless this throws.
    ///
    /// - Parameter client: nil for a proxy of several clients, to which only the total limit applies.
    func admit(_ channel: any Channel, for client: String?) throws(Rejection) {
        let id = ObjectIdentifier(channel)
        let (rejection, action) = state.withLock { state -> (Rejection?, (@Sendable () -> Void)?) in
            let action = state.decided(id)
            do throws(ShareLimiter.Shortage) {
                try state.limiter.take(for: client)
                state.admitted[id] = Client(name: client)
                return (nil, action)
            } catch {
                guard state.refused.count < mostRefused else {
                    // It takes no place from now on.
                    state.channels[id] = nil
                    return (.closing(error), action)
                }
                state.refused.insert(id)
                return (.response(error), action)
            }
        }
        action?()
        if let rejection { throw rejection }
    }

    private func remove(_ channel: any Channel) {
        let (waiting, action) = state.withLock {
            state -> (CheckedContinuation<Void, Never>?, (@Sendable () -> Void)?) in
            let id = ObjectIdentifier(channel)
            let action = state.decided(id)
            if let client = state.admitted.removeValue(forKey: id) { state.limiter.release(for: client.name) }
            state.refused.remove(id)
            state.channels[id] = nil
            guard state.channels.isEmpty else { return (nil, action) }
            defer { state.whenEmpty = nil }
            return (state.whenEmpty, action)
        }
        action?()
        waiting?.resume()
    }

    /// Lets each connection finish its present request; those that have not after `time` are closed.
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
