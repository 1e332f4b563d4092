import DiskStore
import FoundationEssentials
import HTTPCaching

/// Small files whose look-ups are in memory.
extension DownloadCache {
    /// The result of a look-up of a stored file.
    private struct Lookup: Sendable {
        let candidate: StoredCandidate
        let freshUntil: Date
    }

    /// The file for a request when its look-up is in memory and may be used: its body is opened, the index is not asked.
    func heldFile(for request: FileRequest) -> CachedFile? {
        guard request.canBeHeld, let values = valuesIfUsed else { return nil }
        let key = ValueMemory.Key(request, as: Lookup.self, by: fetcher.rules)
        guard let lookup = values.held(key, for: request)?.value as? Lookup,
            let resolved = try? ResolvedRequest(request, by: fetcher.rules)
        else { return nil }
        var status = CacheStatus(cache: "imgcache", hit: true)
        status.timeToLive = Int((lookup.freshUntil.timeIntervalSince(fetcher.now())).rounded(.up))
        // An evicted one is a miss: the usual way tells.
        return try? fetcher.open(lookup.candidate, for: resolved, as: .disk, status, notesUse: false)
    }

    /// Keeps the look-up of a small file that was just answered from the store.
    func hold(_ file: CachedFile, for request: FileRequest) {
        guard request.canBeHeld, file.source == .disk, file.isStored, file.size <= ValueMemory.fileSizeLimit,
            configuration.values.capacity > 0, let candidate = StoredCandidate(file.body.entry, file.generation)
        else { return }
        let now = fetcher.now()
        let freshUntil = file.freshUntil(now, fetcher.rules, request.freshnessOverride)
        let held = ValueMemory.Held(
            Lookup(candidate: candidate, freshUntil: freshUntil), file.generation, file.body.entry,
            freshUntil: freshUntil,
            checked: now)
        let key = ValueMemory.Key(request, as: Lookup.self, by: fetcher.rules)
        values.keep(held, for: key, cost: ValueMemory.lookupCost)
    }
}

extension FileRequest {
    /// True if nothing but key, fields, lifetime and SHA-256 decides about a hit.
    fileprivate var canBeHeld: Bool {
        isPlainGet && policy == .useProtocolCachePolicy && goneOriginal == nil
            && !transfer.forwardsErrorResponses
    }
}
