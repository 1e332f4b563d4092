import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes

/// A stored response that may answer a request.
struct StoredCandidate: Sendable {
    var entry: StoredEntry
    var record: ResponseRecord
    /// The generation of the resource when the entry was read.
    var generation: Generation
    /// All images made from an evicted original that this candidate replaces, ``entry`` first (``FileRequest``).
    var made: [StoredDerivedImage] = []
    /// True if the store already holds this body for the process.
    var isHeld = false

    /// `nil` if the metadata is damaged.
    init?(_ entry: StoredEntry, _ generation: Generation) {
        guard var record = ResponseRecord(decoding: entry.metadata) else { return nil }
        record.response.extent = .complete(length: entry.size)
        self.entry = entry
        self.record = record
        self.generation = generation
    }

    /// The candidate for an evicted original; `nil` if no image made from it is stored.
    init?(madeOfEvictedOriginal made: [StoredDerivedImage], _ generation: Generation) {
        // The newest image has the latest fields of the original's response.
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

/// The received part of an unfinished download, as an incomplete response (RFC 9111 section 3.3).
struct PartialCandidate {
    var body: PartialBody
    var response: StoredResponse
}

/// One look-up: the candidates for a request, and the decision which of them may be served.
///
/// A candidate whose body is found missing or damaged is removed, and the rules decide about the others.
struct Lookup {
    let request: CacheRequest
    let allowance: StoredDecision.Allowance
    private(set) var candidates: [StoredCandidate]
    private(set) var partial: PartialCandidate?
    /// True if a candidate was removed.
    private(set) var hasRemoved = false

    init(
        _ request: CacheRequest, _ candidates: [StoredCandidate], partial: PartialCandidate? = nil,
        allowing allowance: StoredDecision.Allowance
    ) {
        self.request = request
        self.candidates = candidates
        self.partial = partial
        self.allowance = allowance
    }

    /// The responses of ``candidates``, followed by the response of ``partial``. The decision refers to them by index.
    var responses: [StoredResponse] {
        var responses = candidates.map(\.record.response)
        if let partial { responses.append(partial.response) }
        return responses
    }

    /// The response at an index of ``responses``.
    func response(at index: Int) -> StoredResponse {
        if index == candidates.count, let partial { return partial.response }
        return candidates[index].record.response
    }

    func decision(by rules: CacheRules, at now: Date) -> StoredDecision {
        StoredDecision(request, stored: responses, allowing: allowance, by: rules, at: now)
    }

    /// Removes the candidate at an index of ``responses``.
    mutating func remove(at index: Int) {
        hasRemoved = true
        if index < candidates.count { candidates.remove(at: index) } else { partial = nil }
    }

    /// A look-up of the candidates that were received during the wait for another fetch. Earlier candidates are included if they were confirmed
    /// during the wait.
    ///
    /// - Parameters:
    ///   - began: The time at which the wait began. A response with a later time than `now` was received before the clock was set back, and is
    ///     excluded.
    ///   - known: The candidates of the look-up before the wait.
    func stored(since began: Date, besides known: [StoredCandidate], now: Date) -> Lookup {
        let received = candidates.filter { candidate in
            let received = candidate.record.response.responseTime
            return received >= began && !CacheRules.clockWentBack(since: received, now: now)
                && !known.contains {
                    $0.entry.id == candidate.entry.id && $0.entry.metadata == candidate.entry.metadata
                }
        }
        return Lookup(request, received, allowing: .storedOnly(maxStale: nil))
    }
}
