import DiskStore
import HTTPCaching

/// Look-ups of several requests at a time.
extension Fetcher {
    /// A request whose stored responses are all found under its own key.
    private struct PlainLookup {
        let place: Int
        let resolved: ResolvedRequest
        let generation: Generation

        /// `nil` if responses to the request may be stored under other keys, or if the request never uses a stored response.
        init?(_ request: FileRequest, at place: Int, in fetcher: Fetcher) {
            guard request.goneOriginal == nil, let resolved = try? ResolvedRequest(request, by: fetcher.rules),
                fetcher.rules.mode != .shared || resolved.sharedRequestKey == nil,
                !resolved.url.utf8.contains(UInt8(ascii: "?"))
            else { return nil }
            self.place = place
            self.resolved = resolved
            generation = fetcher.store.generation(of: resolved.url)
        }
    }

    /// A response that a decision serves.
    private struct BatchHit {
        let lookup: PlainLookup
        let candidate: StoredCandidate
        let served: ServedResponse
        let status: CacheStatus
    }

    /// The stored files for requests that may be served without a request to the origin. Each file is the one that ``stored(_:)`` returns.
    ///
    /// - Returns: The files in the order of the requests. `nil` also for a request that needs more than the look-up of its key.
    func stored(_ requests: [FileRequest]) throws(ImageCacheError) -> [CachedFile?] {
        let lookups = requests.enumerated().compactMap { PlainLookup($1, at: $0, in: self) }
        var files = [CachedFile?](repeating: nil, count: requests.count)
        do throws(StoreError) {
            let found = try store.entries(
                for: lookups.map { lookup in
                    (lookup.resolved.key, { CacheRules.variantKey($0, of: lookup.resolved.cacheRequest.fields) })
                })
            let hits = zip(lookups, found).compactMap { $1.isEmpty ? nil : hit($0, $1) }
            if hits.isEmpty { return files }
            let bodies = try store.open(hits.map(\.candidate.entry))
            try store.touch(bodies.compactMap { $0?.entry })
            for (hit, body) in zip(hits, bodies) {
                guard let body else { continue }
                // A request for which this fails is served by a separate fetch.
                files[hit.lookup.place] = try? file(
                    body, of: hit.candidate, for: hit.lookup.resolved, as: hit.served.isStale ? .stale : .disk,
                    hit.status)
            }
        } catch {
            throw ImageCacheError(error)
        }
        return files
    }

    private func hit(_ lookup: PlainLookup, _ entries: [StoredEntry]) -> BatchHit? {
        let candidates = answering(lookup.resolved, entries.compactMap { StoredCandidate($0, lookup.generation) })
        let decision = Lookup(lookup.resolved.cacheRequest, candidates, allowing: .usable)
            .decision(by: rules, at: now())
        guard let served = decision.served else { return nil }
        return BatchHit(
            lookup: lookup, candidate: candidates[served.candidate], served: served, status: decision.status)
    }
}
