import DiskStore
import HTTPCaching

/// Responses that do not vary on all of their query (`No-Vary-Search`): they are variants of the URL without it.
extension Fetcher {
    /// Returns the responses that are stored for an equivalent URL and may answer the request.
    ///
    /// - Parameter isNecessary: True to look for them even if the URL has no query.
    func equivalentCandidates(_ resolved: ResolvedRequest, isNecessary: Bool) throws(StoreError) -> [StoredCandidate] {
        guard isNecessary || resolved.url.utf8.contains(UInt8(ascii: "?")) else { return [] }
        let candidates = try equivalentCandidates(resolved.requestKey, for: resolved)
        guard rules.mode == .shared, let key = resolved.sharedRequestKey else { return candidates }
        return try candidates
            + equivalentCandidates(key, for: resolved).filter {
                rules.isSharedDespiteAuthorization($0.record.response)
            }
    }

    private func equivalentCandidates(
        _ key: RequestKey, for resolved: ResolvedRequest
    ) throws(StoreError) -> [StoredCandidate] {
        func entries() throws(StoreError) -> [StoredEntry] {
            try store.entries(for: EntryKey(key.noVarySearch)) {
                CacheRules.searchVariant(group: $0, url: resolved.url, fields: resolved.cacheRequest.fields)
            }
        }
        let found = try entries()
        if found.isEmpty { return [] }
        // A generation stands for what is read after it, and whose it is was not known before.
        let generations = found.map { store.generation(of: $0.url) }
        let confirmed = try Set(entries().map(\.id))
        return zip(found, generations).compactMap { entry, generation in
            guard confirmed.contains(entry.id), let candidate = StoredCandidate(entry, generation),
                let variance = SearchVariance(candidate.record.response.fields),
                variance.isEquivalent(candidate.record.url, resolved.url)
            else { return nil }
            return candidate
        }
    }

    /// Puts a response that does not vary on all of its query where requests for equivalent URLs find it; another one stays where it is.
    ///
    /// - Returns: `nil` when it must not be stored: invalidated meanwhile, or older than what is there.
    func placed(_ entry: NewEntry, _ record: ResponseRecord) throws(StoreError) -> NewEntry? {
        guard let variance = SearchVariance(record.response.fields),
            let variant = rules.searchVariant(of: record.response, url: record.url), let key = entry.key.request
        else { return entry }
        var entry = entry
        entry.key = EntryKey(key.noVarySearch)
        entry.variant = variant
        entry.url = variance.canonical(record.url)
        // All URLs with one path are invalidated together.
        let current = store.generation(of: entry.url)
        guard current.epoch == entry.generation?.epoch, try !hasLater(than: record, at: entry) else { return nil }
        entry.generation = current
        return entry
    }

    /// The variant that a response becomes when it is updated; `nil`: it stays the one that it is.
    func variant(of response: StoredResponse, at entry: StoredEntry) -> String? {
        entry.key.isOfNoVarySearch ? nil : rules.variantKey(of: response)
    }
}
