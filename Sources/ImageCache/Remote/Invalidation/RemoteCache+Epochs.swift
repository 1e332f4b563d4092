import ConcurrencyPrimitives
import RemoteStore

/// The invalidations that an object must be newer than to be used, and those that it is newer than when it is uploaded.
extension RemoteCache {
    /// A resource's epoch in the fleet; nil: the store cannot tell, or is still to be told of an invalidation of many resources.
    func epoch(of url: String) async -> RemoteEpoch? {
        async let scopes = knownScopes(for: url)
        let generation = await generation(of: url)
        guard let scopes = await scopes, let generation else { return nil }
        return RemoteEpoch(generation: generation, position: scopes.position, scope: scopes.last(matching: url))
    }

    /// The end of the object of a response; nil: it may have been invalidated while it came, and is of no use to others.
    func stamp(of fill: RemoteFill, _ url: String) async -> RemoteStamp? {
        guard let scopes = await knownScopes(for: url) else { return nil }
        if let last = scopes.last(matching: url), fill.position?.reaches(last) != true { return nil }
        guard let generation = await generation(of: fill, url) else { return nil }
        // Those between the fill's place and this one are of other resources.
        return RemoteStamp(generation: generation, position: scopes.position, uploaded: now())
    }

    private func generation(of url: String) async -> RemoteGeneration? {
        if let own = state.withLock({ $0.invalidations.generation(of: url) }) { return own }
        return await tombstone(of: url).flatMap { RemoteGeneration($0) }
    }

    /// The generation that a response belongs to, as an object is to say; nil: it may have been invalidated while it came.
    private func generation(of fill: RemoteFill, _ url: String) async -> RemoteGeneration? {
        if let known = fill.epoch?.generation { return known }
        // One that was fetched before this process invalidated it is not uploaded at all.
        if let own = state.withLock({ $0.invalidations.generation(of: url) }) { return own }
        guard let tombstone = await tombstone(of: url) else { return nil }
        return RemoteGeneration(tombstone, requestedBefore: .now - fill.began)
    }

    private func tombstone(of url: String) async -> RemoteReading? {
        await asking(counts: false) { (tier) async throws(RemoteError) in
            try await tier.read(RemoteGeneration.tombstone(of: url), unless: nil)
        }
    }
}

/// The state in which a fetch began, as its upload needs it.
struct RemoteFill: Sendable {
    /// The resource's epoch, seen before the origin was asked; nil: it was not looked at.
    var epoch: RemoteEpoch?
    /// The place in the log to which invalidations of many resources were known before the origin was asked.
    var position: RemoteLogPosition?
    /// Given back when the object is there.
    var lease: RemoteLease?
    let began = ContinuousClock.now

    /// - Parameter position: ``RemoteCache/knownPosition``
    init(knowing position: RemoteLogPosition? = nil) { self.position = position }

    /// The same for somebody who does not give the lease back.
    var withoutLease: RemoteFill {
        var fill = self
        fill.lease = nil
        return fill
    }
}
