package import FoundationEssentials
package import Transfer

extension ImageCache {
    /// The wall clock that the cache reckons by.
    package var now: @Sendable () -> Date { loader.now }

    /// Loads a request over another transport than the cache's own, and stores the response as ever.
    package func load(
        _ request: FileRequest, over transport: any HTTPTransport
    ) async throws(ImageCacheError) -> CachedFile {
        var loader = loader
        loader.transport = transport
        let fetch = Fetch(request.url)
        return try await loader.pool.subscribe(to: nil, fetch, on: executor) {
            [loader] (task) async throws(ImageCacheError) in
            defer { task.context.end() }
            return try await loader.load(try ResolvedRequest(request), task, for: .file)
        }.value()
    }
}
