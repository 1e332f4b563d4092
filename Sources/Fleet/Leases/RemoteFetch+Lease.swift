import ConcurrencyPrimitives
import DiskStore
import ImageCache
import RemoteStore
import Transfer

/// Limits the fleet to one request to the origin: the machine with the key's lease sends it, and the others wait for its object.
///
/// Leases only avoid duplicate work. After any failure, the origin is contacted without one.
extension RemoteFetch {
    /// Stores the response from the remote store. If there is none, acquires the key's lease, or waits for its holder.
    func find(in generation: Generation) async throws(ImageCacheError) -> TierFinding {
        let finding = await storeFromRemote(in: generation)
        // Another machine is uploading the body, or was interrupted.
        if finding.entry == nil, partsFound > 0 { return try await followOrLease(finding, in: generation) }
        return try await lease(finding, in: generation)
    }

    /// Stores the parts of a large body as they are uploaded. If no more appear, the uploader is gone, and the lease is acquired or
    /// awaited.
    private func followOrLease(
        _ finding: TierFinding, in generation: Generation
    ) async throws(ImageCacheError) -> TierFinding {
        let finding = try await followParts(finding, in: generation)
        return finding.entry == nil ? try await lease(finding, in: generation) : finding
    }

    private func lease(
        _ finding: TierFinding, in generation: Generation
    ) async throws(ImageCacheError) -> TierFinding {
        guard finding.entry == nil, remote.usesLease(for: resolved.key),
            let limit = leasePatience
        else { return finding }
        switch await remote.lease(for: resolved.key) {
        case .unavailable: return finding
        case .held(let lease): return try await lookOnceMore(finding, in: generation, holding: lease)
        case .refused:
            access.report { $0.phase = .waitingForOther }
            remote.noteLeaseWait()
            let wait = RemoteLeaseWait(leaseTime: remote.configuration.leaseTime, limit: limit, at: .now)
            return try await awaitHolder(wait, finding, in: generation)
        }
    }

    /// Looks up the object repeatedly until it is stored or the holder is given up.
    private func awaitHolder(
        _ wait: RemoteLeaseWait, _ finding: TierFinding, in generation: Generation
    ) async throws(ImageCacheError) -> TierFinding {
        var (wait, finding) = (wait, finding)
        let (key, count) = (resolved.key, partsFound)
        while true {
            // The lease is read first, because the holder stores the object before it deletes the lease.
            guard let lease = await remote.readLease(of: key) else { return finding }
            finding = await storeFromRemote(in: generation).after(finding)
            if finding.entry != nil { return finding }
            if partsFound > count { return try await followOrLease(finding, in: generation) }
            switch wait.next(lease, at: .now) {
            case .proceed: return finding
            case .look(let pause):
                do { try await Task.sleep(for: pause) } catch { throw .cancelled }
            case .takeOver(let tag):
                switch await remote.takeOver(key, tag: tag) {
                case .unavailable: return finding
                case .held(let lease): return try await lookOnceMore(finding, in: generation, holding: lease)
                case .refused: wait.refused(at: .now)
                }
            }
        }
    }

    /// Looks up the object again, as it, or its first parts, may have been stored before the lease was acquired.
    private func lookOnceMore(
        _ finding: TierFinding, in generation: Generation, holding lease: RemoteLease
    ) async throws(ImageCacheError) -> TierFinding {
        let count = partsFound
        let finding = await storeFromRemote(in: generation).after(finding)
        guard finding.entry == nil, partsFound == count else {
            lease.release()
            return finding.entry == nil ? try await followOrLease(finding, in: generation) : finding
        }
        state.withLock { $0.fill?.lease = lease }
        return finding
    }

    /// The maximum time to wait for a holder; nil if the callers do not wait.
    private var leasePatience: Duration? {
        switch access.waiting {
        case .none: return nil
        // A separate request would wait that long for its first byte.
        case .untilStalled:
            let options = resolved.request.transfer
            return min(max(options.connectTimeout, options.stallTimeout), options.maxTime ?? .seconds(3600))
        // A client waits: long enough for the lease of a dead holder to expire, but not for a slow holder.
        case .atMost: return remote.configuration.leaseTime * 3 / 2
        }
    }
}
