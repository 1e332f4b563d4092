import ConcurrencyPrimitives
import ImageCache
import RemoteStore

/// The invalidations of several resources that this process knows, and the state of reading them.
struct InvalidatedScopes: Sendable {
    var known = RemoteScopes()
    /// The entity tag of the log head when it was last read.
    var tag: String?
    /// The start of the last complete read; nil before the first.
    var looked: ContinuousClock.Instant?
    /// The running read.
    var look: Task<Void, Never>?

    /// The known invalidations, if they were read at or after a time; nil otherwise.
    func known(since time: ContinuousClock.Instant) -> RemoteScopes? {
        guard let looked, looked >= time else { return nil }
        return known
    }
}

extension RemoteCache {
    /// The position in the log up to which invalidations of several resources are known, without reading the store.
    var knownPosition: RemoteLogPosition? { state.withLock { $0.scopes.known.position } }

    /// The time for which a read remains valid if no interval is configured.
    private static let defaultInterval = Duration.seconds(2)

    /// The invalidations of several resources, read within the last interval; nil if the store cannot be read, or an invalidation that
    /// includes the URL is not yet published.
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
        // In one step, because an invalidation that is no longer pending is known.
        let (known, waiting) = state.withLock { ($0.scopes.known(since: time), $0.invalidations.scopes) }
        return waiting.contains { $0.matcher(url) } ? nil : known
    }

    private func lookAtScopes() async {
        let began = ContinuousClock.now
        let tag = state.withLock { $0.scopes.tag }
        await asking(counts: false) { (tier) async throws(RemoteError) in
            let logHead = try await tier.read(LogHead.name, unless: tag)
            try await self.learnScopes(logHead, readAt: began)
        }
        state.withLock { $0.scopes.look = nil }
    }

    /// Learns the invalidations up to the log head from the log head, and later ones from the entries behind it.
    func learnScopes(_ reading: RemoteReading, readAt time: ContinuousClock.Instant) async throws(RemoteError) {
        switch reading.content {
        case .unchanged: break
        case .absent: state.withLock { $0.scopes.tag = nil }
        case .object(let bytes):
            guard let logHead = LogHead(bytes) else { throw .damaged("the log head is invalid") }
            state.withLock { $0.scopes.known.learn(logHead) }
            while let next = knownPosition?.next, case .some(let entry) = try await entry(next) {
                learn(entry, at: next)
            }
            state.withLock { $0.scopes.tag = reading.tag }
        }
        state.withLock { $0.scopes.looked = max($0.scopes.looked ?? time, time) }
    }

    /// Records an entry of the log; nil if it is damaged.
    func learn(_ entry: [UInt8]?, at place: RemoteLogPosition) {
        let batch = entry.flatMap { RemoteInvalidation.decode($0) }
        state.withLock { $0.scopes.known.learn(batch, at: place) }
    }
}
