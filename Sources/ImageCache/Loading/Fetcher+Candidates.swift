import Digests
import DiskStore
import FoundationEssentials
import HTTPCaching

/// The stored responses that may answer a request.
extension Fetcher {
    /// A stored response that may answer.
    struct Candidate {
        var entry: StoredEntry
        var record: ResponseRecord
        /// The resource's when the entry was read.
        var generation: Generation
        /// All that was made of an original that is gone, the entry first, if it stands in for that (``FileRequest``).
        var made: [StoredDerivedImage] = []
        /// True if the store, if it holds bodies, holds this one already.
        var isHeld = false

        /// `nil` for metadata that is damaged.
        init?(_ entry: StoredEntry, _ generation: Generation) {
            guard var record = ResponseRecord(decoding: entry.metadata) else { return nil }
            record.response.extent = .complete(length: entry.size)
            self.entry = entry
            self.record = record
            self.generation = generation
        }

        /// `nil` when there is nothing.
        fileprivate init?(madeOfGoneOriginal made: [StoredDerivedImage], _ generation: Generation) {
            // The one that knows most of the original's response.
            let newestFirst = made.sorted {
                $0.record.response.response.responseTime > $1.record.response.response.responseTime
            }
            guard let newest = newestFirst.first else { return nil }
            entry = newest.entry
            record = newest.record.response
            self.generation = generation
            self.made = newestFirst
        }
    }

    /// The entries stored under the request's key: of many variants only those that may match.
    private func entries(for resolved: ResolvedRequest) throws(StoreError) -> [StoredEntry] {
        try entries(resolved.key, for: resolved)
    }

    private func entries(_ key: EntryKey, for resolved: ResolvedRequest) throws(StoreError) -> [StoredEntry] {
        try store.entries(for: key) { CacheRules.variantKey($0, of: resolved.cacheRequest.fields) }
    }

    /// Shared entries that may be used for a request with credentials (RFC 9111 section 3.5).
    private func candidatesForEverybody(_ resolved: ResolvedRequest, _ generation: Generation) throws(StoreError)
        -> [Candidate]
    {
        guard rules.mode == .shared, let key = resolved.keyForEverybody else { return [] }
        return try entries(key, for: resolved).compactMap { Candidate($0, generation) }
            .filter { rules.isSharedDespiteAuthorization($0.record.response) }
    }

    /// Returns true if any entry is stored under the request's key.
    func hasVariants(_ resolved: ResolvedRequest) throws(StoreError) -> Bool { try !entries(for: resolved).isEmpty }

    func candidates(for resolved: ResolvedRequest) throws(ImageCacheError) -> [Candidate] {
        let generation = store.generation(of: resolved.url)
        do throws(StoreError) {
            var candidates = try entries(for: resolved).compactMap { Candidate($0, generation) }
            candidates += try candidatesForEverybody(resolved, generation)
            candidates += try equivalentCandidates(resolved, isNecessary: candidates.isEmpty)
            if let gone = resolved.request.goneOriginal {
                let made = try store.entries(for: resolved.key.ofDerivedImages).compactMap { StoredDerivedImage($0) }
                let standIn = Candidate(
                    madeOfGoneOriginal: made.filter { $0.record.original == gone }, generation)
                if let standIn { candidates.append(standIn) }
            }
            return answering(resolved, candidates)
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// A proxy stores errors too; nobody gets one for a file.
    func answering(_ resolved: ResolvedRequest, _ candidates: [Candidate]) -> [Candidate] {
        resolved.request.transfer.forwardsErrorResponses
            ? candidates : candidates.filter { $0.record.response.status.kind == .successful }
    }

    /// Opens a stored body; `nil` when it is gone or damaged, or has not the SHA-256 that the request names.
    ///
    /// - Parameter notesUse: False if the use of the entry was noted in the store already.
    func open(
        _ candidate: Candidate, for resolved: ResolvedRequest, as source: CachedFile.Source, _ status: CacheStatus,
        bytesTransferred: Int64 = 0, notesUse: Bool = true
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

    /// The file for a request of an open body; `nil` when that has not the SHA-256 that the request names.
    func file(
        _ body: StoredBody, of candidate: Candidate, for resolved: ResolvedRequest, as source: CachedFile.Source,
        _ status: CacheStatus, bytesTransferred: Int64 = 0
    ) throws(ImageCacheError) -> CachedFile? {
        // The digest is the original's.
        if candidate.made.isEmpty, !(try hasDigest(body, candidate.record.response, for: resolved.request)) {
            return nil
        }
        return CachedFile(
            source: source, bytesTransferred: bytesTransferred, resumedFrom: 0, finalURL: candidate.record.finalURL,
            response: candidate.record.response, isStored: true, cacheStatus: status, body: body,
            generation: candidate.generation)
    }

    /// Opens what a decision serves.
    func open(
        _ candidate: Candidate, for resolved: ResolvedRequest, _ served: ServedResponse, _ decision: CacheDecision
    ) throws(ImageCacheError) -> CachedFile? {
        try open(candidate, for: resolved, as: CachedFile.Source(served), decision.cacheStatus())
    }
}

extension CachedFile.Source {
    /// The source of a stored response.
    init(_ served: ServedResponse) { self = served.isStale ? .stale : .disk }
}
