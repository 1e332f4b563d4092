import ConcurrencyPrimitives
import ImageCache
import RemoteStore

/// The invalidations that an object must be newer than to be used, and those that it is marked with when it is uploaded.
extension RemoteCache {
    /// A resource's epoch in the fleet; nil if the store cannot be read, or an invalidation of several resources with this URL is not yet
    /// published.
    func epoch(of url: String) async -> RemoteEpoch? {
        async let scopes = knownScopes(for: url)
        let generation = await generation(of: url)
        guard let scopes = await scopes, let generation else { return nil }
        return RemoteEpoch(generation: generation, position: scopes.position, scope: scopes.last(matching: url))
    }

    /// The stamp of the object of a response; nil if the resource may have been invalidated since the request, so that the object must not
    /// be shared.
    func stamp(of fill: FillContext, _ url: String) async -> RemoteStamp? {
        guard let scopes = await knownScopes(for: url) else { return nil }
        if let last = scopes.last(matching: url), fill.position?.reaches(last) != true { return nil }
        guard let generation = await generation(of: fill, url) else { return nil }
        // The invalidations between the fill's position and this one concern other resources.
        return RemoteStamp(generation: generation, position: scopes.position, uploaded: now())
    }

    private func generation(of url: String) async -> RemoteGeneration? {
        if let own = state.withLock({ $0.invalidations.generation(of: url) }) { return own }
        return await tombstone(of: url).flatMap { RemoteGeneration($0) }
    }

    /// The generation that a response belongs to; nil if the resource may have been invalidated since the request.
    private func generation(of fill: FillContext, _ url: String) async -> RemoteGeneration? {
        if let known = fill.epoch?.generation { return known }
        // A response that was requested before this process invalidated it is never uploaded.
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

/// The state at the start of a fetch, which the upload of its response needs.
struct FillContext: Sendable {
    /// The resource's epoch before the request to the origin; nil if it was not read.
    var epoch: RemoteEpoch?
    /// The position in the log up to which invalidations of several resources were known before the request to the origin.
    var position: RemoteLogPosition?
    /// The lease, which is released when the object is stored.
    var lease: RemoteLease?
    let began = ContinuousClock.now

    /// - Parameter position: ``RemoteCache/knownPosition``
    init(knowing position: RemoteLogPosition? = nil) { self.position = position }

    /// The same state without the lease.
    var withoutLease: FillContext {
        var fill = self
        fill.lease = nil
        return fill
    }
}
