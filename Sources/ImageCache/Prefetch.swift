import ConcurrencyPrimitives
public import ImageCodec
public import Transfer

extension DownloadCache {
    /// Downloads files that will be needed soon, `width` at a time, in the order given.
    ///
    /// Files that are stored and fresh cost a look-up. Failures are not thrown but listed in ``Prefetch/failures``: such a file is
    /// fetched when it is requested. Dropping the returned value does not stop the prefetch; ``Prefetch/cancel()`` does.
    ///
    /// - Parameters:
    ///   - requests: The files, the first one first.
    ///   - width: Concurrent downloads.
    ///   - priority: The transfers' priority, in place of the requests' own. Default: behind everything else.
    @discardableResult
    public func prefetch(
        _ requests: [FileRequest], width: Int = 4, priority: TransferPriority = .background
    ) -> Prefetch {
        Prefetch(requests.count, width: width) { [self] index async throws(ImageCacheError) in
            var request = requests[index]
            request.priority = priority
            _ = try await file(for: request)
        }
    }

    /// Renders images that will be needed soon, `width` at a time, in the order given: into memory, and onto disk according to each
    /// request's ``ImageRequest/storing``.
    ///
    /// - Parameters:
    ///   - requests: The images, the first one first.
    ///   - width: Concurrent images.
    ///   - encoder: The format of thumbnails; `nil`: pixels.
    ///   - priority: The priority of transfers and decodes, in place of the requests' own. Default: behind everything else.
    @discardableResult
    public func prefetchImages(
        _ requests: [ImageRequest], as encoder: ImageEncoder? = nil, width: Int = 4,
        priority: TransferPriority = .background
    ) -> Prefetch {
        Prefetch(requests.count, width: width) { [self] index async throws(ImageCacheError) in
            var request = requests[index]
            request.file.priority = priority
            if let encoder {
                _ = try await thumbnail(for: request, as: encoder)
            } else {
                _ = try await image(for: request)
            }
        }
    }
}

/// A prefetch under way.
public final class Prefetch: Sendable {
    /// The progress of a prefetch.
    public struct Counts: Sendable, Equatable {
        public var requested: Int
        public var loaded = 0
        public var failed = 0
    }

    /// A request that failed.
    public struct Failure: Sendable {
        /// The request's place among those that were given.
        public var index: Int
        public var error: ImageCacheError
    }

    private struct State {
        var counts: Counts
        var failures: [Failure] = []
        /// Fulfilled at the end of a pause.
        var resumed: Promise<Void>?
        var task: Task<Void, Never>?
    }

    private let state: Locked<State>

    init(_ count: Int, width: Int, _ load: @escaping @Sendable (_ index: Int) async throws(ImageCacheError) -> Void) {
        state = Locked(State(counts: Counts(requested: count)))
        let task = Task { [self] in
            await withTaskGroup(of: Void.self) { group in
                var next = 0
                func startNext() async {
                    guard next < count else { return }
                    await untilResumed()
                    guard !Task.isCancelled else { return }
                    let index = next
                    next += 1
                    group.addTask { [self] in
                        do throws(ImageCacheError) {
                            try await load(index)
                            state.withLock { $0.counts.loaded += 1 }
                        } catch {
                            state.withLock { state in
                                state.counts.failed += 1
                                state.failures.append(Failure(index: index, error: error))
                            }
                        }
                    }
                }
                for _ in 0..<max(1, width) { await startNext() }
                while await group.next() != nil { await startNext() }
            }
        }
        state.withLock { $0.task = task }
    }

    public var counts: Counts { state.withLock { $0.counts } }

    /// The requests that have failed so far and their errors, in the order in which they ended; those stopped by ``cancel()`` included.
    public var failures: [Failure] { state.withLock { $0.failures } }

    /// Starts no further request until ``resume()``; those under way go on.
    public func pause() { state.withLock { $0.resumed = $0.resumed ?? Promise() } }

    /// Continues after ``pause()``.
    public func resume() {
        let resumed = state.withLock { state in
            defer { state.resumed = nil }
            return state.resumed
        }
        resumed?.fulfill(())
    }

    /// Starts no further request, and stops those under way that nobody else waits for.
    public func cancel() {
        state.withLock { $0.task }?.cancel()
        resume()
    }

    /// Returns when every request was tried, or after ``cancel()``.
    public func finish() async { await state.withLock { $0.task }?.value }

    private func untilResumed() async {
        while !Task.isCancelled, let resumed = state.withLock({ $0.resumed }) { await resumed.value() }
    }
}
