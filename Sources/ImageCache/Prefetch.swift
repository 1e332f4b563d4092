import ConcurrencyPrimitives
public import ImageCodec
public import Transfer

extension DownloadCache {
    /// Downloads files that will be needed soon, up to `width` in parallel, in the order given.
    ///
    /// Files that are stored and fresh only cost a look-up. Failures are not thrown but recorded in ``Prefetch/failures``; a later request
    /// tries again. Releasing the returned value does not stop the prefetch; call ``Prefetch/cancel()``.
    ///
    /// - Parameters:
    ///   - requests: The files in the order of download.
    ///   - width: The number of concurrent downloads.
    ///   - priority: The priority of the transfers, instead of the requests' own.
    @discardableResult
    public func prefetch(
        _ requests: [FileRequest], width: Int = 4, priority: TransferPriority = .background
    ) -> Prefetch {
        let requests = requests.map { request in
            var request = request
            request.priority = priority
            return request
        }
        let ahead = LookupAhead()
        return Prefetch(requests.count, width: width) { [self] index async throws(ImageCacheError) in
            var request = requests[index]
            let outcome = await lookUp(index, of: requests, ahead)
            if outcome.file != nil { return }
            request.lookedUp = outcome.lookedUp
            _ = try await file(for: request)
        }
    }

    /// Renders images that will be needed soon, up to `width` in parallel, in the order given. They are kept in memory, and on disk as
    /// specified by ``ImageRequest/storing``.
    ///
    /// - Parameters:
    ///   - requests: The images in the order of rendering.
    ///   - encoder: The format of thumbnails; `nil` for decoded images.
    ///   - width: The number of concurrent images.
    ///   - priority: The priority of transfers and decodes, instead of the requests' own.
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

/// A running prefetch.
public final class Prefetch: Sendable {
    /// The progress of a prefetch.
    public struct Counts: Sendable, Equatable {
        public var requested: Int
        public var loaded = 0
        public var failed = 0
    }

    /// A request that failed.
    public struct Failure: Sendable {
        /// The index of the request.
        public var index: Int
        public var error: ImageCacheError
    }

    private struct State {
        var counts: Counts
        var failures: [Failure] = []
        /// Fulfilled when a pause ends.
        var resumed: Promise<Void>?
        /// True if the prefetch was released during a pause, so that the pause cannot end.
        var isAbandoned = false
        var task: Task<Void, Never>?
    }

    private let state: Locked<State>

    init(_ count: Int, width: Int, _ load: @escaping @Sendable (_ index: Int) async throws(ImageCacheError) -> Void) {
        let state = Locked(State(counts: Counts(requested: count)))
        self.state = state
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                var next = 0
                func startNext() async {
                    guard next < count else { return }
                    await Self.untilResumed(state)
                    guard !Task.isCancelled, !state.withLock({ $0.isAbandoned }) else { return }
                    let index = next
                    next += 1
                    group.addTask {
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
                for _ in 0..<min(count, max(1, width)) { await startNext() }
                while await group.next() != nil { await startNext() }
            }
        }
        state.withLock { $0.task = task }
    }

    deinit {
        let resumed = state.withLock { state in
            state.isAbandoned = state.resumed != nil
            return state.resumed
        }
        resumed?.fulfill(())
    }

    public var counts: Counts { state.withLock { $0.counts } }

    /// The requests that have failed so far, in the order of their failures, including those stopped by ``cancel()``.
    public var failures: [Failure] { state.withLock { $0.failures } }

    /// Starts no further requests until ``resume()``. Running requests continue. If you release a paused prefetch, it ends after its running
    /// requests.
    public func pause() { state.withLock { $0.resumed = $0.resumed ?? Promise() } }

    /// Continues after ``pause()``.
    public func resume() {
        let resumed = state.withLock { state in
            defer { state.resumed = nil }
            return state.resumed
        }
        resumed?.fulfill(())
    }

    /// Starts no further requests, and stops running ones that no other caller waits for.
    public func cancel() {
        state.withLock { $0.task }?.cancel()
        resume()
    }

    /// Returns after all requests, or after ``cancel()``.
    public func finish() async { await state.withLock { $0.task }?.value }

    private static func untilResumed(_ state: Locked<State>) async {
        while !Task.isCancelled, let resumed = state.withLock({ $0.isAbandoned ? nil : $0.resumed }) {
            await resumed.value()
        }
    }
}
