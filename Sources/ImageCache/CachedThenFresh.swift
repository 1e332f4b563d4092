/// The sequence of ``DownloadCache/cachedThenFresh(for:)``.
struct CachedThenFresh: AsyncSequence, Sendable {
    let cache: DownloadCache
    let request: FileRequest

    func makeAsyncIterator() -> Iterator { Iterator(cache: cache, request: request) }

    struct Iterator: AsyncIteratorProtocol, Sendable {
        private enum State {
            case start
            /// The stored file was returned, and the origin's file is being fetched.
            case refreshing(Download, after: CachedFile)
            case end
        }

        private let cache: DownloadCache
        private let request: FileRequest
        private var state = State.start

        init(cache: DownloadCache, request: FileRequest) {
            self.cache = cache
            self.request = request
        }

        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ImageCacheError) -> CachedFile? {
            switch state {
            case .start:
                state = .end
                if let stored = try await cached() {
                    state = .refreshing(cache.download(current), after: stored)
                    return stored
                }
                return try await cache.file(for: current)
            case .refreshing(let download, let stored):
                state = .end
                let fresh = try await download.file
                return fresh.path == stored.path ? nil : fresh
            case .end: return nil
            }
        }

        /// The stored file; `nil` if there is none, or it cannot be read.
        private func cached() async throws(ImageCacheError) -> CachedFile? {
            var stored = request
            stored.policy = .returnCacheDataDontLoad
            do throws(ImageCacheError) {
                return try await cache.file(for: stored)
            } catch {
                // The origin may still have the file. An invalid request fails there.
                if error.code == .cancelled { throw error }
                return nil
            }
        }

        private var current: FileRequest {
            var current = request
            current.awaitsRevalidation = true
            return current
        }
    }
}
