import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics

/// Look-ups of small files in memory.
extension DownloadCache {
    /// The result of a look-up of a stored file.
    private struct Lookup: Sendable {
        let candidate: StoredCandidate
        let freshUntil: Date
    }

    /// Opens the file for a request if its look-up is in memory and may be used. Does not read the index.
    func heldFile(for request: FileRequest) -> CachedFile? {
        guard request.canBeHeld, let values = valuesIfUsed else { return nil }
        let key = ValueMemory.Key(request, as: Lookup.self, by: fetcher.rules)
        guard let lookup = values.held(key, for: request)?.value as? Lookup,
            let resolved = try? ResolvedRequest(request, by: fetcher.rules)
        else { return nil }
        var status = CacheStatus(cache: "imgcache", hit: true)
        status.timeToLive = lookup.freshUntil.timeIntervalSince(fetcher.now()).rounded(.up).wholeSeconds
        // The body may have been evicted. The result is then `nil`, and the caller looks it up in the store.
        return try? fetcher.open(lookup.candidate, for: resolved, as: .disk, status, notesUse: false)
    }

    /// Keeps the look-up of a small file that was just found in the store.
    func hold(_ file: CachedFile, for request: FileRequest) {
        // The entry of another URL answers only requests that allow it, and is looked up for each.
        guard request.canBeHeld, file.source == .disk, file.isStored, !file.isDeduplicated,
            file.size <= ValueMemory.fileSizeLimit,
            configuration.values.capacity > 0, let candidate = StoredCandidate(file.body.entry, file.generation)
        else { return }
        let now = fetcher.now()
        let freshUntil = file.freshUntil(now, fetcher.rules, request.freshnessOverride)
        let held = ValueMemory.Held(
            Lookup(candidate: candidate, freshUntil: freshUntil), file.generation, file.body.entry,
            freshUntil: freshUntil, responseTime: file.response.responseTime)
        let key = ValueMemory.Key(request, as: Lookup.self, by: fetcher.rules)
        values.keep(held, for: key, cost: ValueMemory.lookupCost)
    }
}

extension FileRequest {
    /// True if a hit depends only on the key, the fields, the lifetime and the SHA-256.
    fileprivate var canBeHeld: Bool {
        isPlainGet && policy == .useProtocolCachePolicy && evictedOriginalID == nil
            && !transfer.forwardsErrorResponses
            // The file may change between the look-up and its keeping.
            && transfer.cookieFile == nil
    }
}
