import DiskStore
import FoundationEssentials
import HTTPCaching

/// The outcome of a look-up of several requests at a time, for one of them.
package enum BatchLookup: Sendable {
    /// A file that may be used without a request to the origin.
    case hit(CachedFile)
    /// Nothing that may be used so. A fetch of the request (``FileRequest/lookedUp``) goes on from here.
    case miss(LookedUp)
    /// The request needs more than the look-up of its own keys.
    case unknown
}

/// A request and its stored responses, as a look-up has read them.
package final class LookedUp: Sendable {
    let resolved: ResolvedRequest
    let candidates: [StoredCandidate]
    /// The decision about the candidates, within ``StoredDecision/Allowance/usable``. If it serves none, no later one does.
    let decision: StoredDecision
    /// The generation of the resource before the look-up. While it lasts, another look-up would find the same.
    let generation: Generation

    init(
        _ resolved: ResolvedRequest, _ candidates: [StoredCandidate], _ generation: Generation, by rules: CacheRules,
        at now: Date
    ) {
        self.resolved = resolved
        self.candidates = candidates
        self.generation = generation
        decision = Lookup(resolved.cacheRequest, candidates, allowing: .usable).decision(by: rules, at: now)
    }
}

/// Look-ups of several requests at a time.
extension Fetcher {
    /// A request whose stored responses are all found under its own keys.
    private struct PlainLookup {
        let place: Int
        let resolved: ResolvedRequest
        let generation: Generation

        /// `nil` if responses to the request may be stored under other keys, or if the request never uses a stored response.
        init?(_ request: FileRequest, at place: Int, in fetcher: Fetcher) {
            guard request.goneOriginal == nil, let resolved = try? ResolvedRequest(request, by: fetcher.rules),
                resolved.cacheRequest.isAnsweredFromStore,
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
        let place: Int
        let lookedUp: LookedUp
        let served: ServedResponse

        var candidate: StoredCandidate { lookedUp.candidates[served.candidate] }
    }

    /// Looks up several requests in one transaction of the index. A hit is the file that ``stored(_:)`` returns.
    ///
    /// - Returns: The outcomes in the order of the requests.
    func lookUp(_ requests: [FileRequest]) throws(ImageCacheError) -> [BatchLookup] {
        let lookups = requests.enumerated().compactMap { PlainLookup($1, at: $0, in: self) }
        var outcomes = [BatchLookup](repeating: .unknown, count: requests.count)
        var hits: [BatchHit] = []
        do throws(StoreError) {
            let found: [[StoredEntry]] = try store.entries(for: keys(of: lookups))
            for (index, lookup) in lookups.enumerated() {
                // Responses to equivalent URLs belong to other resources: a separate look-up reads their generations.
                guard found[2 * index + 1].isEmpty else { continue }
                let candidates = found[2 * index].compactMap { StoredCandidate($0, lookup.generation) }
                let lookedUp = LookedUp(
                    lookup.resolved, answering(lookup.resolved, candidates), lookup.generation, by: rules, at: now())
                outcomes[lookup.place] = .miss(lookedUp)
                if let served = lookedUp.decision.served {
                    hits.append(BatchHit(place: lookup.place, lookedUp: lookedUp, served: served))
                }
            }
            if hits.isEmpty { return outcomes }
            let bodies = try store.open(hits.map(\.candidate.entry))
            try store.touch(bodies.compactMap { $0?.entry })
            for (hit, body) in zip(hits, bodies) {
                // A request without a body, or for which this fails, is served by a separate fetch.
                outcomes[hit.place] = .unknown
                guard let body else { continue }
                let file = try? file(
                    body, of: hit.candidate, for: hit.lookedUp.resolved, as: hit.served.isStale ? .stale : .disk,
                    hit.lookedUp.decision.status)
                if let file { outcomes[hit.place] = .hit(file) }
            }
        } catch {
            throw ImageCacheError(error)
        }
        return outcomes
    }

    /// The key of each request, and the key of the responses to equivalent URLs, with the variants that match the request.
    private func keys(of lookups: [PlainLookup]) -> [(key: EntryKey, variant: (_ group: Substring) -> String)] {
        var keys: [(key: EntryKey, variant: (_ group: Substring) -> String)] = []
        for lookup in lookups {
            let (url, fields) = (lookup.resolved.url, lookup.resolved.cacheRequest.fields)
            keys.append((lookup.resolved.key, { CacheRules.variantKey($0, of: fields) }))
            keys.append(
                (
                    EntryKey(lookup.resolved.requestKey.noVarySearch),
                    { CacheRules.searchVariant(group: $0, url: url, fields: fields) }
                ))
        }
        return keys
    }
}
