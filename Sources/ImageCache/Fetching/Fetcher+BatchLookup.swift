import DiskStore
import FoundationEssentials
import HTTPCaching

/// The outcome of a look-up of several requests at a time, for one of them. Both are `nil` if the request needs more than the look-up of its keys.
package struct BatchLookup: Sendable {
    /// The file, if it may be used without a request to the origin.
    package var file: CachedFile?
    /// The look-up that a fetch of the request begins with (``FileRequest/lookedUp``), if there is no such file.
    package var lookedUp: LookedUp?

    package init() {}
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
            guard request.evictedOriginalID == nil, let resolved = try? ResolvedRequest(request, by: fetcher.rules),
                resolved.cacheRequest.isAnsweredFromStore,
                fetcher.rules.mode != .shared || resolved.sharedRequestKey == nil,
                !resolved.url.utf8.contains(UInt8(ascii: "?"))
            else { return nil }
            self.place = place
            self.resolved = resolved
            generation = fetcher.store.generation(of: resolved.url)
        }

        /// The request's own key, and the key of the responses to equivalent URLs.
        var keys: [(key: EntryKey, variant: (_ group: Substring) -> String)] {
            [
                (resolved.key, resolved.variant(in:)),
                (EntryKey(resolved.requestKey.noVarySearch), resolved.searchVariant(in:)),
            ]
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
        var outcomes = [BatchLookup](repeating: BatchLookup(), count: requests.count)
        var hits: [BatchHit] = []
        do throws(StoreError) {
            let found = try store.entries(for: lookups.flatMap(\.keys))
            for (index, lookup) in lookups.enumerated() {
                // Responses to equivalent URLs belong to other resources: a separate look-up reads their generations.
                guard found[2 * index + 1].isEmpty else { continue }
                let candidates = found[2 * index].compactMap { StoredCandidate($0, lookup.generation) }
                let lookedUp = LookedUp(
                    lookup.resolved, answering(lookup.resolved, candidates), lookup.generation, by: rules, at: now())
                if let served = lookedUp.decision.served {
                    hits.append(BatchHit(place: lookup.place, lookedUp: lookedUp, served: served))
                } else {
                    outcomes[lookup.place].lookedUp = lookedUp
                }
            }
            if hits.isEmpty { return outcomes }
            let bodies = try store.open(hits.map(\.candidate.entry))
            try store.touch(bodies.compactMap { $0?.entry })
            for (hit, body) in zip(hits, bodies) {
                guard let body else { continue }
                // A request for which this fails is served by a separate fetch.
                outcomes[hit.place].file = try? file(
                    body, of: hit.candidate, for: hit.lookedUp.resolved, as: hit.served.isStale ? .stale : .disk,
                    hit.lookedUp.decision.status)
            }
        } catch {
            throw ImageCacheError(error)
        }
        return outcomes
    }
}
