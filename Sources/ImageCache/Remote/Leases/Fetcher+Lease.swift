import ConcurrencyPrimitives
import DiskStore
import RemoteStore
import Transfer

/// One request to the origin for the whole fleet: the machine that has the key's lease sends it, the others wait for its object.
///
/// A lease saves work and guards nothing: whatever fails here, the origin is asked.
extension Fetcher {
    /// Stores what the remote store has for a request; where it has nothing, gets the key's lease, or waits for its holder.
    func lookInRemote(_ look: RemoteLook) async throws(ImageCacheError) -> RemoteFinding {
        let finding = await storeFromRemote(look)
        // Another machine is at it, or was when it ended.
        if finding.entry == nil, look.partsFound > 0 { return try await followOrLease(finding, look) }
        return try await lease(finding, look)
    }

    /// Takes the parts of a large body as they appear; when no more do, whoever uploaded them has ended, and somebody goes on.
    private func followOrLease(
        _ finding: RemoteFinding, _ look: RemoteLook
    ) async throws(ImageCacheError) -> RemoteFinding {
        let finding = try await followParts(finding, look)
        return finding.entry == nil ? try await lease(finding, look) : finding
    }

    private func lease(_ finding: RemoteFinding, _ look: RemoteLook) async throws(ImageCacheError) -> RemoteFinding {
        let resolved = look.resolved
        guard finding.entry == nil, let remote, remote.usesLease(for: resolved.key),
            let limit = leasePatience(of: look.consumer, resolved, remote)
        else { return finding }
        switch await remote.lease(for: resolved.key) {
        case .unavailable: return finding
        case .held(let lease): return try await lookOnceMore(finding, look, holding: lease)
        case .refused:
            look.task.context.report { $0.phase = .waitingForOther }
            remote.noteLeaseWait()
            let wait = RemoteLeaseWait(leaseTime: remote.configuration.leaseTime, limit: limit, at: .now)
            return try await awaitHolder(wait, finding, look, remote)
        }
    }

    /// Looks for an object between two pauses, until it is there or the holder is given up.
    private func awaitHolder(
        _ wait: RemoteLeaseWait, _ finding: RemoteFinding, _ look: RemoteLook, _ remote: RemoteCache
    ) async throws(ImageCacheError) -> RemoteFinding {
        var (wait, finding) = (wait, finding)
        let (key, count) = (look.resolved.key, look.partsFound)
        while true {
            // In this order: the holder stores the object before it deletes the lease.
            guard let lease = await remote.readLease(of: key) else { return finding }
            finding = await storeFromRemote(look).after(finding)
            if finding.entry != nil { return finding }
            if look.partsFound > count { return try await followOrLease(finding, look) }
            switch wait.next(lease, at: .now) {
            case .goOn: return finding
            case .look(let pause):
                do { try await Task.sleep(for: pause) } catch { throw .cancelled }
            case .takeOver(let tag):
                switch await remote.takeOver(key, tag: tag) {
                case .unavailable: return finding
                case .held(let lease): return try await lookOnceMore(finding, look, holding: lease)
                case .refused: wait.refused(at: .now)
                }
            }
        }
    }

    /// Somebody may have stored the object between the look that missed and the lease, or its first parts.
    private func lookOnceMore(
        _ finding: RemoteFinding, _ look: RemoteLook, holding lease: RemoteLease
    ) async throws(ImageCacheError) -> RemoteFinding {
        let count = look.partsFound
        var finding = await storeFromRemote(look).after(finding)
        guard finding.entry == nil, look.partsFound == count else {
            lease.release()
            return finding.entry == nil ? try await followOrLease(finding, look) : finding
        }
        finding.fill.lease = lease
        return finding
    }

    /// The time to wait for a holder; nil: the consumer waits for nobody.
    private func leasePatience(
        of consumer: Consumer, _ resolved: ResolvedRequest, _ remote: RemoteCache
    ) -> Duration? {
        switch consumer.waiting {
        case .none: return nil
        // An attempt of its own would have that long for a first byte.
        case .untilStalled:
            let options = resolved.request.transfer
            return min(max(options.connectTimeout, options.stallTimeout), options.maxTime ?? .seconds(3600))
        // A client waits: long enough for a dead holder's lease to expire, and not for a slow one.
        case .atMost: return remote.configuration.leaseTime * 3 / 2
        }
    }
}
