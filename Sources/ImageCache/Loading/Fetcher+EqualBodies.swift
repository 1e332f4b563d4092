import Digests
import DiskStore
import HTTPCaching
import Transfer

/// Stored bodies that are the requested one by their digest, whatever URL they came from.
extension Fetcher {
    /// The stored file with the SHA-256 that the request expects; `nil` when there is none, or the request does not want it.
    func equalBody(_ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        guard let digest = resolved.request.expectedDigest else { return nil }
        return try equalBody(digest, resolved)
    }

    /// The SHA-256 that the head of a response announces, if a body with it seems to be stored.
    func digestOfEqualBody(_ head: ResponseHead, _ resolved: ResolvedRequest) throws(ImageCacheError) -> Digest? {
        guard resolved.request.expectedDigest == nil, head.status == .ok, !head.hasContentCoding,
            let digest = DigestFields.digest(in: head.fields, of: head.status)
        else { return nil }
        return try equalEntries(digest, resolved).isEmpty ? nil : digest
    }

    /// The stored file with a SHA-256: its body is read, and compared with it.
    func equalBody(_ digest: Digest, _ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        // The one that the request expects is verified when a body is opened.
        let isVerified = resolved.request.expectedDigest == digest
        for entry in try equalEntries(digest, resolved) {
            guard let candidate = StoredCandidate(entry, store.generation(of: entry.url)),
                candidate.record.response.status == .ok,
                var file = try open(
                    candidate, for: resolved, as: .disk, CacheStatus(cache: "imgcache", hit: true))
            else { continue }
            if !isVerified, try !file.body.has(digest) { continue }
            file.isOfOtherRequest = true
            return file
        }
        return nil
    }

    private func equalEntries(
        _ digest: Digest, _ resolved: ResolvedRequest
    ) throws(ImageCacheError) -> [StoredEntry] {
        let policies: [CachePolicy] = [.useProtocolCachePolicy, .returnCacheDataElseLoad]
        guard resolved.request.reusesEqualBodies, resolved.cacheRequest.isAnsweredFromStore,
            policies.contains(resolved.request.policy),
            digest.algorithm == .sha256
        else { return [] }
        do throws(StoreError) {
            // Never another user's, who may not even know that it is here; the caching rules decide about the request's own.
            return try store.entries(sha256: digest.bytes).filter {
                $0.key.request?.isEqualExceptForURL(to: resolved.requestKey) == true && $0.key != resolved.key
            }
        } catch {
            throw ImageCacheError(error)
        }
    }
}

/// Ends a transfer whose response announces a body that is stored already.
struct EqualBodyIsStored: Error {
    let digest: Digest
}
