import ConcurrencyPrimitives
import RemoteStore

/// The invalidations of many resources that this process knows, and the time of its last look.
struct RemoteScopeNews: Sendable {
    var known = RemoteScopes()
    /// The tag of the bell that was looked at last.
    var tag: String?
    /// The beginning of the last look that saw all of them; nil: none did.
    var looked: ContinuousClock.Instant?
    /// The look that is under way.
    var look: Task<Void, Never>?

    /// Those known at a time, or later; nil: there was no look since.
    func known(since time: ContinuousClock.Instant) -> RemoteScopes? {
        guard let looked, looked >= time else { return nil }
        return known
    }
}

extension RemoteCache {
    /// The place in the log to which invalidations of many resources are known, without a look at the store.
    var knownPosition: RemoteLogPosition? { state.withLock { $0.scopes.known.position } }

    /// The time for which a look at the bell holds, where it is not looked at by itself.
    private static let defaultInterval = Duration.seconds(2)

    /// The invalidations of many resources that the log had an interval ago, or has; nil: the store cannot tell, or is still to be told
    /// of one that includes a URL.
    func knownScopes(for url: String) async -> RemoteScopes? {
        let time = ContinuousClock.now - (configuration.invalidationInterval ?? Self.defaultInterval)
        let look = state.withLock { state -> Task<Void, Never>? in
            if state.scopes.known(since: time) != nil { return nil }
            if let look = state.scopes.look { return look }
            let look = Task(executorPreference: executor) { await self.lookAtScopes() }
            state.scopes.look = look
            return look
        }
        await look?.value
        // At once: one that waits no more is known.
        let (known, waiting) = state.withLock { ($0.scopes.known(since: time), $0.invalidations.scopes) }
        return waiting.contains { $0.matcher(url) } ? nil : known
    }

    private func lookAtScopes() async {
        let began = ContinuousClock.now
        let tag = state.withLock { $0.scopes.tag }
        await asking(counts: false) { (tier) async throws(RemoteError) in
            let bell = try await tier.read(RemoteBell.name, unless: tag)
            try await self.learnScopes(bell, readAt: began)
        }
        state.withLock { $0.scopes.look = nil }
    }

    /// Learns what the log has: all up to the bell from the bell, and the entries behind it.
    func learnScopes(_ reading: RemoteReading, readAt time: ContinuousClock.Instant) async throws(RemoteError) {
        switch reading.content {
        case .unchanged: break
        case .absent: state.withLock { $0.scopes.tag = nil }
        case .object(let bytes):
            guard let bell = RemoteBell(bytes) else { throw .damaged("the bell is none") }
            state.withLock { $0.scopes.known.learn(bell) }
            while let next = knownPosition?.next, case .some(let entry) = try await entry(next) {
                learn(entry, at: next)
            }
            state.withLock { $0.scopes.tag = reading.tag }
        }
        state.withLock { $0.scopes.looked = max($0.scopes.looked ?? time, time) }
    }

    /// Notes an entry of the log; nil: it is damaged.
    func learn(_ entry: [UInt8]?, at place: RemoteLogPosition) {
        let batch = entry.flatMap { RemoteInvalidation.decode($0) }
        state.withLock { $0.scopes.known.learn(batch, at: place) }
    }
}
