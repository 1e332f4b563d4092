import ConcurrencyPrimitives
public import FoundationEssentials
import HTTPCaching

extension DownloadCache {
    /// The file for a request: from the store if the rules allow it, else from the origin.
    ///
    /// Cancelling the calling task ends this call at once; the transfer stops when nobody else waits for it, and what
    /// arrived is kept for the next time.
    public func file(for request: FileRequest) async throws(ImageCacheError) -> CachedFile {
        if let file = heldFile(for: request) { return file }
        let file = try await download(request).file
        hold(file, for: request)
        return file
    }

    /// The file at a URL: from the store if the rules allow it, else from the origin.
    public func file(for url: String) async throws(ImageCacheError) -> CachedFile {
        try await file(for: FileRequest(url))
    }

    /// The file at a URL: from the store if the rules allow it, else from the origin.
    public func file(for url: URL) async throws(ImageCacheError) -> CachedFile {
        try await file(for: FileRequest(url))
    }

    /// The file for a request if it is stored and may be used without asking the origin; else `nil`.
    ///
    /// A few file and index operations, no network. The result is the one that ``file(for:)-(FileRequest)`` would give.
    public func storedFile(for request: FileRequest) async throws(ImageCacheError) -> CachedFile? {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.storedFile(for: request) }
    }

    /// Starts, or joins, the download of a request: for progress and for the file.
    public func download(_ request: FileRequest) -> Download {
        Download(request: request, subscription: fetcher.subscribe(to: request))
    }

    /// The HTTP response to a request for a part of a file (`Range`, `If-Range`: RFC 9110 section 14), for its head alone (HEAD),
    /// or for the file if it changed (`If-None-Match`, `If-Modified-Since`: section 13).
    ///
    /// Served from the store, also from a partial download that covers the range. What is missing is downloaded as by
    /// ``file(for:)-(FileRequest)``: all of the file, because further ranges are likely to follow. HEAD downloads no body; its response updates
    /// the stored one, or invalidates it (RFC 9111 section 4.3.5).
    ///
    /// - Throws: As ``file(for:)-(FileRequest)``; an error status of the origin is an error here too. The response to `only-if-cached` may be 504.
    public func response(for request: FileRequest) async throws(ImageCacheError) -> CachedResponse {
        do throws(ImageCacheError) {
            let resolved = try ResolvedRequest(narrow: request, by: fetcher.rules)
            let fetcher = fetcher
            let stored = try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
                if let stored = try fetcher.storedResponse(resolved) {
                    if stored.needsRevalidation { fetcher.revalidateInBackground(resolved) }
                    return stored.response as CachedResponse?
                }
                return request.method == .head ? try await fetcher.head(resolved) : nil
            }
            if let stored { return stored }
            return try fetcher.response(to: resolved, from: try await file(for: resolved.request))
        } catch {
            throw error.with(url: request.url)
        }
    }

    /// The stored file at once, however stale, and then, if the origin has another one, that.
    ///
    /// For a page that shows yesterday's picture while today's loads. Ends after one file when the stored one is still valid, or
    /// when none was stored; fails like ``file(for:)-(FileRequest)``, after the stored file was delivered.
    public func cachedThenFresh(for request: FileRequest) -> CachedThenFresh {
        CachedThenFresh(cache: self, request: request)
    }

    /// Runs work that waits for the disk on a thread of the cache.
    func onExecutor<Value: Sendable>(
        _ work: @escaping @Sendable (BlockingOperations) throws(ImageCacheError) -> Value
    ) async throws(ImageCacheError) -> Value {
        try await executor.run { [self] () throws(ImageCacheError) in try work(blocking) }
    }
}
