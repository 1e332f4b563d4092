import DiskStore
import HTTPCaching
import HTTPTypes

/// What a plan asks the origin, and what there is to fall back on.
struct OriginQuestion: Sendable {
    /// The answer that needs no question.
    var file: CachedFile?
    /// The stored responses that it is about.
    var candidates: [Loader.Candidate] = []
    var validation: CacheValidation?
    /// The fields that ask it.
    var conditions = HTTPFields()
    /// The final URL of the stored response that it is about.
    var storedURL: String? { validation.map { candidates[$0.candidate].record.finalURL } }
    /// The candidate that may be served, stale as it is, when the origin cannot be reached.
    var fallback: Int?
    /// How the cache came to ask.
    var status: CacheStatus

    init(_ plan: Loader.Plan) {
        switch plan {
        case .file(let file):
            self.file = file
            status = file.cacheStatus
        case .validate(let question, let stored):
            (candidates, validation, conditions) = (stored, question, question.fields)
            fallback = question.mayServeStaleOnError ? question.candidate : nil
            status = CacheDecision.validate(question).cacheStatus()
        case .forward(let forward, let stored):
            (candidates, conditions) = (stored, forward.fields)
            fallback = forward.staleCandidate
            status = CacheDecision.forward(forward).cacheStatus()
        }
    }

    /// The candidate that is better than an answer with this status, if the rules allow it.
    func staleCandidate(for job: Job, after status: HTTPResponse.Status, by loader: Loader) -> Int? {
        guard let index = validation?.candidate ?? fallback else { return nil }
        let response = candidates[index].record.response
        let mayServe = loader.rules.mayServeStale(
            response, after: .status(status), for: job.cacheRequest, now: loader.now())
        return mayServe || mayServeWhileRevalidating(response, job, loader) ? index : nil
    }

    /// Whether `stale-while-revalidate` (RFC 5861 section 3) would have served it without waiting for an answer.
    private func mayServeWhileRevalidating(_ response: StoredResponse, _ job: Job, _ loader: Loader) -> Bool {
        if case .serveAndRevalidate = loader.rules.decide(job.cacheRequest, stored: [response], now: loader.now()) {
            true
        } else {
            false
        }
    }
}
