import Digests
import DiskStore
import HTTPCaching
import Transfer

/// Stored bodies with the digest of the requested one, from any URL.
extension Fetcher {
    /// The stored file with the SHA-256 that the request expects; `nil` if there is none, or if the request does not allow it.
    func equalBody(_ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        guard let digest = resolved.expectedDigest else { return nil }
        return try equalBody(digest, resolved)
    }

    /// The SHA-256 that the head of a response announces, if a body with it seems to be stored.
    func digestOfEqualBody(_ head: ResponseHead, _ resolved: ResolvedRequest) throws(ImageCacheError) -> Digest? {
        guard resolved.expectedDigest == nil, head.status == .ok, !head.hasContentCoding,
            let digest = DigestFields.digest(in: head.fields, of: head.status)
        else { return nil }
        return try equalEntries(digest, resolved).isEmpty ? nil : digest
    }

    /// The stored file with a SHA-256, which is verified by reading the body.
    func equalBody(_ digest: Digest, _ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        // `open` verifies the digest that the request expects.
        let isVerified = resolved.expectedDigest == digest
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
            // Bodies of other users are not used. The caching rules alone decide about the entries of the request's own key.
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
