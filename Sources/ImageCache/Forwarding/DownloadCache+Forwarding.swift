import DiskStore
import HTTPCaching
public import MemoryCache
import Transfer

extension DownloadCache {
    /// Responds to any request as a cache between a client and its origin does (RFC 9110 section 7.6, RFC 9111): for a proxy.
    ///
    /// * Redirects are not followed, and every status is a response, with its body.
    /// * The head is available as soon as it is known, and the body while it arrives.
    /// * GET and HEAD are served from the store where the rules allow it, also for a range and for a client's own
    ///   conditions, and fill it: one request to the origin for all concurrent ones, continued by range when it is cut.
    /// * Responses that must not be stored bypass the store, at the pace of their reader; so does everything that is not
    ///   GET or HEAD. A successful POST, PUT or DELETE invalidates the stored responses for its URL (RFC 9111 section 4.4).
    ///
    /// - Throws: ``ImageCacheError`` when there is no response at all: the origin cannot be reached and nothing stale may take its
    ///   place, or the calling task was cancelled.
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

    /// The response of ``forward(_:)`` if it is in memory: for an event loop.
    ///
    /// Takes microseconds and does not block: no file, no thread, no lock that is held for long. `nil` says nothing about the
    /// store: call ``forward(_:)``, after which a small, fresh response is in memory.
    public func hotResponse(for request: ForwardRequest) -> HotResponse? {
        fetcher.hotResponses.response(for: request.file)
    }

    /// The small responses in memory that ``hotResponse(for:)`` serves.
    public var hotResponseStatistics: MemoryCacheStatistics { fetcher.hotResponses.statistics }
}
