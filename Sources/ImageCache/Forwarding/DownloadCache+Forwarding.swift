import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
public import MemoryCache
import Transfer

extension DownloadCache {
    /// Responds to a request as a cache between a client and its origin does (RFC 9110 section 7.6, RFC 9111). For proxies.
    ///
    /// * Redirects are not followed, and every status is returned as a response with its body.
    /// * The head is returned as soon as it arrives, and the body while it arrives.
    /// * GET and HEAD, also with ranges and conditions, are served from the store if the caching rules allow it. Otherwise, concurrent
    ///   requests share one request to the origin, which is resumed after an interruption, and the response is stored.
    /// * Several ranges are answered one by one, and sent as `multipart/byteranges` (RFC 9110 section 14.6): up to 16 that do not overlap.
    ///   Otherwise the ranges are ignored. Ranges of a response that must not be stored are one request to the origin.
    /// * Responses that must not be stored, and those to other methods, are passed through at the speed of the reader. A successful unsafe
    ///   request, such as POST, PUT or DELETE, invalidates the stored responses of its URL (RFC 9111 section 4.4).
    ///
    /// - Throws: ``ImageCacheError`` if there is no response: the origin is unreachable and no stale response may be used, or the calling
    ///   task was cancelled.
    public func forward(_ request: ForwardRequest) async throws(ImageCacheError) -> ForwardedResponse {
        var request = request.file
        request.transfer.forwardsErrorResponses = true
        request.transfer.maxRedirects = 0
        request.noStoreBehavior = .deliver
        do throws(ImageCacheError) {
            return try await forwarder.response(to: request)
        } catch {
            throw error.with(url: request.url)
        }
    }

    /// The complete stored body that answers a request without its range and conditions, regardless of its age; `nil` if there is none.
    package func storedFile(for request: ForwardRequest) async throws(ImageCacheError) -> CachedFile? {
        var request = request.file
        request.method = .get
        request.policy = .returnCacheDataDontLoad
        request.fields = request.fields.withoutConditions
        request.fields[.cacheControl] = nil
        return try await storedFile(for: request)
    }

    /// The response of ``forward(_:)`` if it is in memory, for use on an event loop.
    ///
    /// Takes microseconds and does not block: it reads no files, and uses no other threads and no long-held locks. If it returns `nil`, call
    /// ``forward(_:)``, which adds small, fresh responses to memory, and keeps files open of which ranges are read.
    public func hotResponse(for request: ForwardRequest) -> HotResponse? {
        fetcher.hotResponses.response(for: request.file) ?? fetcher.hotRange(request.file)
    }

    /// The statistics of the responses in memory that ``hotResponse(for:)`` returns.
    public var hotResponseStatistics: MemoryCacheStatistics { fetcher.hotResponses.statistics }
}
