package import FoundationEssentials
package import Transfer

extension DownloadCache {
    /// The wall clock that the cache reckons by.
    package var now: @Sendable () -> Date { fetcher.now }

    /// Loads a request over another transport than the cache's own, and stores the response as ever.
    package func load(
        _ request: FileRequest, over transport: any HTTPTransport
    ) async throws(ImageCacheError) -> CachedFile {
        var fetcher = fetcher
        fetcher.transport = transport
        fetcher.remote = nil
        let fetch = Fetch(request.url, for: request)
        return try await fetcher.pool.subscribe(to: nil, fetch, on: executor) {
            [fetcher] (task) async throws(ImageCacheError) in
            try await task.context.run { () async throws(ImageCacheError) in
                try await fetcher.performFetch(try ResolvedRequest(request, by: fetcher.rules), task, for: .file)
            }
        }.value()
    }
}
