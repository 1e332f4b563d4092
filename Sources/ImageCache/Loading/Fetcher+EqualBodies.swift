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

    /// The stored file with the SHA-256 that the head of a response announces.
    func equalBody(_ head: ResponseHead, _ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        guard resolved.request.expectedDigest == nil, head.status == .ok, !head.hasContentCoding,
            let digest = DigestFields.digest(in: head.fields, of: head.status)
        else { return nil }
        return try equalBody(digest, resolved)
    }

    private func equalBody(_ digest: Digest, _ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        let policies: [CachePolicy] = [.useProtocolCachePolicy, .returnCacheDataElseLoad]
        guard resolved.request.reusesEqualBodies, policies.contains(resolved.request.policy),
            digest.algorithm == .sha256
        else { return nil }
        let entries: [StoredEntry]
        do throws(StoreError) { entries = try store.entries(sha256: digest.bytes) } catch {
            throw ImageCacheError(error)
        }
        // Never another user's, who may not even know that it is here.
        for entry in entries where entry.key.namespace == resolved.key.namespace {
            guard let candidate = Candidate(entry, store.generation(of: entry.url)),
                candidate.record.response.status == .ok, !resolved.isOwn(entry),
                var file = try open(
                    candidate, for: resolved, as: .disk, CacheStatus(cache: "imgcache", hit: true)),
                try BodyDigest.digest(.sha256, ofFile: file.body.descriptor, size: file.size) == digest.bytes
            else { continue }
            file.isOfOtherRequest = true
            return file
        }
        return nil
    }
}

/// Ends a transfer whose response announces a body that is stored already.
struct EqualBodyIsStored: Error {
    let file: CachedFile
}

extension ResolvedRequest {
    /// Returns true if the entry is stored for this request: the caching rules decide about those.
    fileprivate func isOwn(_ entry: StoredEntry) -> Bool { entry.key == key }
}

extension EntryKey {
    /// Everything before the URL, which has no space: the method, whose entry it is.
    fileprivate var namespace: Substring { value[..<(value.lastIndex(of: " ") ?? value.startIndex)] }
}
