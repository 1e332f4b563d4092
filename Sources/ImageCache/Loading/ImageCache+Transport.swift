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
        return try await withTaskExecutorPreference(executor) { [loader] () async throws(ImageCacheError) in
            try await loader.load(request, flight: Flight { _ in })
        }
    }
}
