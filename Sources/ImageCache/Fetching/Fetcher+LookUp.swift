import ConcurrencyPrimitives
import Digests
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Look-ups of stored responses: the candidates are read from the store, the rules decide, and a body is opened.
extension Fetcher {
    // MARK: Candidates

    /// The entries stored under a key. If there are many variants, only those that may match the request.
    private func entries(_ key: EntryKey, for resolved: ResolvedRequest) throws(StoreError) -> [StoredEntry] {
        try store.entries(for: key, variant: resolved.variant(in:))
    }

    /// Shared entries that may be used for a request with credentials (RFC 9111 section 3.5).
    private func candidatesForEverybody(_ resolved: ResolvedRequest, _ generation: Generation) throws(StoreError)
        -> [StoredCandidate]
    {
        guard rules.mode == .shared, let key = resolved.sharedRequestKey else { return [] }
        return try entries(EntryKey(.response(key)), for: resolved).compactMap { StoredCandidate($0, generation) }
            .filter { rules.isSharedDespiteAuthorization($0.record.response) }
    }

    /// Returns true if any entry is stored under the request's key.
    func hasVariants(_ resolved: ResolvedRequest) throws(StoreError) -> Bool {
        try !entries(resolved.key, for: resolved).isEmpty
    }

    /// The stored responses that may answer a request.
    func candidates(for resolved: ResolvedRequest) throws(ImageCacheError) -> [StoredCandidate] {
        let generation = store.generation(of: resolved.url)
        do throws(StoreError) {
            var candidates = try entries(resolved.key, for: resolved).compactMap { StoredCandidate($0, generation) }
            candidates += try candidatesForEverybody(resolved, generation)
            candidates += try equivalentCandidates(resolved, isNecessary: candidates.isEmpty)
            // A derived image does not prove its original's digest or length.
            if let evicted = resolved.request.evictedOriginalID, resolved.request.acceptsAnyBody {
                let made = try store.entries(for: EntryKey(.derivedImages(resolved.requestKey)))
                    .compactMap { StoredDerivedImage($0) }
                let replacement = StoredCandidate(
                    madeOfEvictedOriginal: made.filter { $0.record.original == evicted }, generation)
                if let replacement { candidates.append(replacement) }
            }
            return answering(resolved, candidates)
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// Error responses answer only the requests of a proxy, which stores them.
    func answering(_ resolved: ResolvedRequest, _ candidates: [StoredCandidate]) -> [StoredCandidate] {
        resolved.request.transfer.forwardsErrorResponses
            ? candidates : candidates.filter { $0.record.response.status.kind == .successful }
    }

    /// The received part of an unfinished download, if it may be stored.
    private func partialCandidate(for resolved: ResolvedRequest) throws(ImageCacheError) -> PartialCandidate? {
        // It answers neither a request for the whole body nor one for its head.
        guard resolved.isNarrow else { return nil }
        do throws(StoreError) {
            return try openPartial(for: resolved).flatMap { candidate($0, for: resolved) }
        } catch {
            throw ImageCacheError(error)
        }
    }

    private func candidate(_ partial: OpenPartials.Item, for resolved: ResolvedRequest) -> PartialCandidate? {
        // Without a validator, only a digest of the whole proves what was joined.
        guard partial.record.validator != nil else { return nil }
        // The partial of a response that must not be stored is kept for its own download alone.
        var response = partial.record.response
        guard rules.storability(of: response, to: resolved.cacheRequest).isStorable else { return nil }
        response.extent = .partial(held: partial.body.held, total: partial.body.total)
        return PartialCandidate(body: partial.body, response: response)
    }

    // MARK: Equivalent URLs

    /// Returns the responses that are stored for an equivalent URL and may answer the request. A response that does not vary on all of its
    /// query (`No-Vary-Search`) is a variant of the URL without it.
    ///
    /// - Parameter isNecessary: True to look for them even if the URL has no query.
    func equivalentCandidates(_ resolved: ResolvedRequest, isNecessary: Bool) throws(StoreError)
        -> [StoredCandidate]
    {
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
            try store.entries(for: EntryKey(key.noVarySearch), variant: resolved.searchVariant(in:))
        }
        let found = try entries()
        if found.isEmpty { return [] }
        // A generation must be read before the entries that it covers, and their URLs were not known before: the entries are read twice.
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

    // MARK: Hits

    /// A stored response that may be served, opened.
    struct Hit {
        enum Body {
            case file(CachedFile)
            case partial(PartialBody, Range<Int64>)
        }

        let body: Body
        let served: ServedResponse
        /// The stored response that is served.
        let response: StoredResponse

        var file: CachedFile? { if case .file(let file) = body { file } else { nil } }
    }

    /// Opens the stored response that a look-up serves, and returns the last decision. The hit is `nil` if no response may be served.
    func open(
        _ lookup: inout Lookup, for resolved: ResolvedRequest
    ) throws(ImageCacheError) -> (hit: Hit?, decision: StoredDecision) {
        while true {
            let decision = lookup.decision(by: rules, at: now())
            guard let served = decision.served else { return (nil, decision) }
            if let body = try open(served, of: lookup, for: resolved, decision) {
                return (Hit(body: body, served: served, response: lookup.response(at: served.candidate)), decision)
            }
            lookup.remove(at: served.candidate)
        }
    }

    private func open(
        _ served: ServedResponse, of lookup: Lookup, for resolved: ResolvedRequest, _ decision: StoredDecision
    ) throws(ImageCacheError) -> Hit.Body? {
        if served.candidate < lookup.candidates.count {
            let source: CachedFile.Source = served.isStale ? .stale : .disk
            return try open(lookup.candidates[served.candidate], for: resolved, as: source, decision.status)
                .map { .file($0) }
        }
        guard let body = lookup.partial?.body, let range = served.range(of: nil) else { return nil }
        do throws(StoreError) {
            return try body.isIntact(range) ? .partial(body, range) : nil
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// The stored file for a request, if it may be served without a request to the origin.
    func stored(_ request: FileRequest) throws(ImageCacheError) -> CachedFile? {
        let resolved = try ResolvedRequest(request, by: rules)
        var lookup = Lookup(resolved.cacheRequest, try candidates(for: resolved), allowing: .usable)
        return try open(&lookup, for: resolved).hit?.file
    }

    /// A response from the store.
    struct StoredResponseHit {
        var response: CachedResponse
        /// True if the response is stale and must be revalidated in the background.
        var needsRevalidation = false
    }

    /// The stored response to a request for a range or the head of a file, or to a conditional request, if it may be served without a request to
    /// the origin.
    func storedResponse(_ resolved: ResolvedRequest) throws(ImageCacheError) -> StoredResponseHit? {
        let candidates = try candidates(for: resolved)
        let partial = try partialCandidate(for: resolved)
        if partial != nil, candidates.isEmpty {
            openPartials.withLock { $0.noteAlone(resolved.key, in: store.generation(of: resolved.url)) }
        }
        return try storedResponse(resolved, candidates, partial)
    }

    /// The stored response to a request for a range of an incomplete body that was read lately. Reads neither the index nor the body; `nil` if that is
    /// necessary.
    func recentResponse(_ resolved: ResolvedRequest) throws(ImageCacheError) -> StoredResponseHit? {
        guard resolved.isNarrow, let recent = recentPartial(for: resolved), recent.isAlone,
            let wanted = recent.range(of: resolved), recent.body.isVerified(wanted)
        else { return nil }
        return try storedResponse(resolved, [], candidate(recent, for: resolved))
    }

    /// The response to a request for a short range of an incomplete body that was read lately; `nil` if it needs more than memory.
    func hotRange(_ request: FileRequest) -> HotResponse? {
        guard request.method == .get, let range = ByteRange(request.fields), range.isShort,
            openPartials.withLock({ !$0.isEmpty }), HotResponses.Kind(request) == .conditional,
            let resolved = try? ResolvedRequest(narrow: request, by: rules),
            let hit = try? recentResponse(resolved), !hit.needsRevalidation, hit.response.descriptor != nil
        else { return nil }
        return HotResponse(hit.response)
    }

    private func storedResponse(
        _ resolved: ResolvedRequest, _ candidates: [StoredCandidate], _ partial: PartialCandidate?
    ) throws(ImageCacheError) -> StoredResponseHit? {
        var lookup = Lookup(
            resolved.clientRequest, candidates, partial: partial,
            allowing: revalidatesInBackground ? .staleWhileRevalidating : .usable)
        let (hit, decision) = try open(&lookup, for: resolved)
        guard let hit else {
            guard let failure = decision.failure else { return nil }
            guard failure.reason == .onlyIfCached else { throw Self.notCached(resolved) }
            return StoredResponseHit(
                response: CachedResponse(HTTPResponse(status: .gatewayTimeout), decision.status))
        }
        let head = rules.head(of: hit.served, from: hit.response)
        let response =
            switch hit.body {
            case .file(let file): CachedResponse(head, hit.served.range(of: file.size), of: file)
            case .partial(let body, let range): CachedResponse(head, range, of: body, decision.status)
            }
        return StoredResponseHit(response: response, needsRevalidation: decision.needsRevalidation)
    }

    // MARK: The next step of a fetch

    /// The result of a look-up for a fetch.
    enum LookupResult {
        case hit(CachedFile, needsRevalidation: Bool)
        case miss(ConditionalRequest)
        /// Only a stored response was acceptable, and there is none.
        case notCached
    }

    /// Looks up the stored file for a request, also by the digest that the request expects.
    ///
    /// - Parameters:
    ///   - known: An earlier look-up of the request, if the store is unchanged since then.
    ///   - wait: The wait for another fetch that has just ended. The response that the other fetch stored is served even if the policy
    ///     excludes older ones.
    func lookUp(
        _ resolved: ResolvedRequest, _ known: LookedUp? = nil, after wait: KeyWait? = nil
    ) throws(ImageCacheError) -> LookupResult {
        let candidates = if let known { known.candidates } else { try candidates(for: resolved) }
        if let wait, let file = try stored(since: wait, candidates, resolved) {
            return .hit(file, needsRevalidation: false)
        }
        let isPatient = !revalidatesInBackground || resolved.request.awaitsRevalidation
        var lookup = Lookup(
            resolved.cacheRequest, candidates, allowing: isPatient ? .usable : .staleWhileRevalidating)
        let decision: StoredDecision
        if let known, isPatient, known.decision.served == nil {
            decision = known.decision
        } else {
            let opened = try open(&lookup, for: resolved)
            decision = opened.decision
            if let file = opened.hit?.file { return .hit(file, needsRevalidation: decision.needsRevalidation) }
        }
        if decision.failure != nil { return .notCached }
        if let file = try deduplicatedBody(resolved) { return .hit(file, needsRevalidation: false) }
        var request = decision.conditionalRequest(about: lookup.candidates)
        request.status.unusedReason = unusedReason(lookup, resolved)
        return .miss(request)
    }

    /// A file that another fetch stored since a time.
    func stored(since wait: KeyWait, _ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        try stored(since: wait, try candidates(for: resolved), resolved)
    }

    private func stored(
        since wait: KeyWait, _ candidates: [StoredCandidate], _ resolved: ResolvedRequest
    ) throws(ImageCacheError) -> CachedFile? {
        var lookup = Lookup(resolved.cacheRequest, candidates, allowing: .usable)
            .stored(since: wait.began, besides: wait.known, now: now())
        guard !lookup.candidates.isEmpty, let hit = try open(&lookup, for: resolved).hit, var file = hit.file else {
            return nil
        }
        file.source = .disk
        file.cacheStatus = wait.status
        file.cacheStatus.collapsed = true
        file.cacheStatus.stored = true
        file.cacheStatus.timeToLive = hit.served.remainingLifetime
        return file
    }

    /// A wait for another fetch of the same key.
    struct KeyWait {
        var began: Date
        /// The candidates that were stored before.
        var known: [StoredCandidate] = []
        /// The reason for the request to the origin, as determined before the wait.
        var status: CacheStatus
    }

    /// The reason why no stored response was used.
    private func unusedReason(_ lookup: Lookup, _ resolved: ResolvedRequest) -> UnusedReason? {
        if lookup.hasRemoved { return .damaged }
        let reason = rules.unusedReason(lookup.request, stored: lookup.responses, now: now())
        guard reason == .missing, resolved.namespace != .shared else { return reason }
        let shared = EntryKey(.response(RequestKey(url: resolved.url)))
        let isStoredForAll = (try? store.entries(for: shared).isEmpty) == false
        return isStoredForAll ? .owner : .missing
    }

    static func notCached(_ resolved: ResolvedRequest) -> ImageCacheError {
        ImageCacheError(.notCached, url: resolved.request.url, message: "not in the cache, and offline")
    }

    // MARK: Bodies

    /// Opens a stored body; `nil` if it was removed or is damaged, or if it does not have the digest, pieces or size that the request expects.
    ///
    /// - Parameter notesUse: False if the use of the entry was noted in the store already.
    func open(
        _ candidate: StoredCandidate, for resolved: ResolvedRequest, as source: CachedFile.Source,
        _ status: CacheStatus, bytesTransferred: Int64 = 0, notesUse: Bool = true
    ) throws(ImageCacheError) -> CachedFile? {
        let body: StoredBody
        do throws(StoreError) {
            guard let stored = try store.open(candidate.entry, isHeld: candidate.isHeld) else { return nil }
            body = stored
        } catch {
            throw ImageCacheError(error)
        }
        guard
            let file = try self.file(
                body, of: candidate, for: resolved, as: source, status, bytesTransferred: bytesTransferred)
        else { return nil }
        do throws(StoreError) {
            if notesUse { try store.touch(candidate.entry) }
            return file
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// The file of an open body for a request; `nil` if the body does not have the digest, pieces or size that the request expects.
    func file(
        _ body: StoredBody, of candidate: StoredCandidate, for resolved: ResolvedRequest,
        as source: CachedFile.Source, _ status: CacheStatus, bytesTransferred: Int64 = 0
    ) throws(ImageCacheError) -> CachedFile? {
        // The digest belongs to the original, not to an image made from it.
        if candidate.made.isEmpty, !(try resolved.request.accepts(body, of: candidate.record.response)) {
            return nil
        }
        return CachedFile(
            source: source, bytesTransferred: bytesTransferred, resumedFrom: 0, finalURL: candidate.record.finalURL,
            response: candidate.record.response, isStored: true, cacheStatus: status, body: body,
            generation: candidate.generation)
    }

    // MARK: By digest

    /// The stored file with the SHA-256 that the request expects; `nil` if there is none, or if the request does not allow it.
    func deduplicatedBody(_ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        guard let digest = resolved.expectedDigest else { return nil }
        return try deduplicatedBody(digest, resolved)
    }

    /// The SHA-256 that the head of a response announces, if a body with it seems to be stored.
    func digestOfEqualBody(_ head: ResponseHead, _ resolved: ResolvedRequest) throws(ImageCacheError) -> Digest? {
        guard resolved.expectedDigest == nil, head.status == .ok, !head.hasContentCoding,
            let digest = DigestFields.digest(in: head.fields, of: head.status)
        else { return nil }
        return try equalEntries(digest, resolved).isEmpty ? nil : digest
    }

    /// The stored file with a SHA-256, which is verified by reading the body.
    func deduplicatedBody(_ digest: Digest, _ resolved: ResolvedRequest) throws(ImageCacheError) -> CachedFile? {
        // `open` verifies the digest that the request expects.
        let isVerified = resolved.expectedDigest == digest
        for entry in try equalEntries(digest, resolved) {
            guard let candidate = StoredCandidate(entry, store.generation(of: entry.url)),
                candidate.record.response.status == .ok,
                var file = try open(
                    candidate, for: resolved, as: .disk, CacheStatus(cache: "imgcache", hit: true))
            else { continue }
            if !isVerified, try !file.body.has(digest) { continue }
            file.isDeduplicated = true
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

extension ServedResponse {
    /// The bytes of the representation that are the content.
    func range(of size: Int64?) -> Range<Int64>? {
        switch body {
        case .none: nil
        case .whole: size.map { 0..<$0 }
        case .range(let range, _): range
        }
    }
}

extension ByteRange {
    /// The longest range in bytes that is looked up on an event loop.
    private static let mostOnEventLoop: Int64 = 1 << 20

    fileprivate var isShort: Bool {
        switch self {
        case .from(let first, let last?): last - first < Self.mostOnEventLoop
        case .from(_, nil): false
        case .suffix(let count): count <= Self.mostOnEventLoop
        }
    }
}

/// Ends a transfer whose response announces a body that is stored already.
struct EqualBodyIsStored: Error {
    let digest: Digest
}
