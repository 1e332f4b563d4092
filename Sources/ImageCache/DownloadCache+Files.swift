import ConcurrencyPrimitives
public import FoundationEssentials
import HTTPCaching

extension DownloadCache {
    /// The file for a request: from the store if the caching rules allow it, otherwise from the origin.
    ///
    /// If the calling task is cancelled, this call ends immediately. The transfer stops if no other caller waits for it. Received bytes are
    /// kept, so that a later request resumes.
    public func file(for request: FileRequest) async throws(ImageCacheError) -> CachedFile {
        if let file = heldFile(for: request) { return file }
        let file = try await download(request).file
        hold(file, for: request)
        return file
    }

    /// The file at a URL: from the store if the caching rules allow it, otherwise from the origin.
    public func file(for url: String) async throws(ImageCacheError) -> CachedFile {
        try await file(for: FileRequest(url))
    }

    /// The file at a URL: from the store if the caching rules allow it, otherwise from the origin.
    public func file(for url: URL) async throws(ImageCacheError) -> CachedFile {
        try await file(for: FileRequest(url))
    }

    /// The file for a request if it is stored and may be used without contacting the origin; otherwise `nil`.
    ///
    /// Takes a few file and index operations. Returns the same result as ``file(for:)-(FileRequest)``.
    public func storedFile(for request: FileRequest) async throws(ImageCacheError) -> CachedFile? {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.storedFile(for: request) }
    }

    /// Starts the download of a request, or joins a running one.
    public func download(_ request: FileRequest) -> Download {
        Download(request: request, subscription: fetcher.subscribe(to: request))
    }

    /// The HTTP response to a request for a range of a file (`Range`, `If-Range`: RFC 9110 section 14), for its head (HEAD), or for the
    /// file unless it is unchanged (`If-None-Match`, `If-Modified-Since`: section 13).
    ///
    /// The response comes from the store, or from a partial or running download as soon as that has the range. Otherwise the missing blocks
    /// of the range, of 256 KiB, are requested and stored. A conditional request, and a range of a response without a strong validator,
    /// download the whole file as in ``file(for:)-(FileRequest)``. HEAD downloads no body; its response updates or invalidates the stored
    /// one (RFC 9111 section 4.3.5).
    ///
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, including error statuses of the origin. For `only-if-cached`, the result may
    ///   be a 504 response.
    public func response(for request: FileRequest) async throws(ImageCacheError) -> CachedResponse {
        do throws(ImageCacheError) {
            let resolved = try ResolvedRequest(narrow: request, by: fetcher.rules)
            let fetcher = fetcher
            let stored = try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
                switch try await fetcher.narrowResponse(resolved) {
                case .stored(let stored, _):
                    if stored.needsRevalidation { fetcher.revalidateInBackground(resolved) }
                    return stored.response as CachedResponse?
                case .blocks(let blocks): return try await fetcher.response(blocks)
                case .failed(let error) where error.code.storeReason == nil: throw error
                case .failed, nil:
                    return request.method == .head
                        ? try await fetcher.head(resolved) : try await fetcher.rangeOfRunningFetch(resolved)
                }
            }
            if let stored { return stored }
            return try fetcher.response(to: resolved, from: try await file(for: resolved.request))
        } catch {
            throw error.with(url: request.url)
        }
    }

    /// A sequence of the stored file, however stale, and the origin's file if it differs.
    ///
    /// Use it to show an old version while the current one loads. The sequence has one element if the stored file is still valid or if no
    /// file is stored. Errors of ``file(for:)-(FileRequest)`` are thrown after the stored file. Each iteration makes its own request.
    public func cachedThenFresh(
        for request: FileRequest
    ) -> some AsyncSequence<CachedFile, ImageCacheError> & Sendable {
        CachedThenFresh(cache: self, request: request)
    }

    /// Runs blocking work on a thread of the cache.
    func onExecutor<Value: Sendable>(
        _ work: @escaping @Sendable (BlockingOperations) throws(ImageCacheError) -> Value
    ) async throws(ImageCacheError) -> Value {
        try await executor.run { [self] () throws(ImageCacheError) in try work(blocking) }
    }
}
