import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// Failures of the origin, and the stale responses that are served in their place.
extension Fetcher {
    /// An error status: a stale file where the rules allow it, else the error.
    func fail(
        _ result: TransferResult, _ conditional: ConditionalRequest, resolved: ResolvedRequest
    ) throws(ImageCacheError) -> CachedFile {
        var status = conditional.status
        status.forwardStatus = result.head.status.code
        if let index = conditional.staleCandidate(for: resolved, after: result.head.status, by: self),
            let file = try openStale(
                conditional.candidates[index], for: resolved, status, bytesTransferred: result.bytesReceived)
        {
            return file
        }
        throw Self.failure(result, resolved)
    }

    static func failure(_ result: TransferResult, _ resolved: ResolvedRequest) -> ImageCacheError {
        let status = result.head.status
        let reason = status.reasonPhrase.isEmpty ? "\(status.code)" : "\(status.code) \(status.reasonPhrase)"
        let retries = result.retriesEnded.map { " (\($0))" } ?? ""
        return ImageCacheError(
            .status(status.code), url: resolved.request.url, message: "the server answered \(reason)\(retries)")
    }

    /// The stale file to serve in place of a response that did not arrive, or is an error; otherwise throws the error.
    func stale(
        after error: TransferError, _ request: OriginRequest
    ) throws(ImageCacheError) -> CachedFile {
        let (conditional, resolved) = (request.conditional, request.resolved)
        var status = conditional.status
        let index: Int?
        switch error.code {
        case .refusedBySink:
            let better = error.cause as? ResponseSink.StaleIsBetter
            status.forwardStatus = better?.head.status.code
            index = better.flatMap { conditional.staleCandidate(for: resolved, after: $0.head.status, by: self) }
        case .cancelled: index = nil
        case .addressRefused where request.consumer.isFile: index = nil
        default: index = conditional.fallback ?? pinnedFallback(conditional, resolved)
        }
        guard let index,
            let file = try openStale(
                conditional.candidates[index], for: resolved, status, bytesTransferred: error.bytesReceived)
        else { throw ImageCacheError(error) }
        // Whoever has the head, or bytes, of what was cut must not get the rest of this one.
        request.fetch.growth.restart()
        return file
    }

    /// Opens what is served although stale, because the origin failed.
    func openStale(
        _ candidate: StoredCandidate, for resolved: ResolvedRequest, _ status: CacheStatus, bytesTransferred: Int64
    ) throws(ImageCacheError) -> CachedFile? {
        var status = status
        status.detail = StaleReason.originFailed.detail
        status.timeToLive = remainingLifetime(of: candidate.record.response, resolved)
        return try open(candidate, for: resolved, as: .stale, status, bytesTransferred: bytesTransferred)
    }

    func remainingLifetime(of response: StoredResponse, _ resolved: ResolvedRequest) -> Int? {
        rules.served(response, for: resolved.cacheRequest, now: now())?.remainingLifetime
    }
}
