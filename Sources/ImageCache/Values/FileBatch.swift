import ConcurrencyPrimitives

/// The progress of a batch of files.
public struct BatchProgress: Sendable, Equatable {
    /// Files that were asked for, that are there, and that failed.
    public var requested: Int
    public var loaded = 0
    public var failed = 0
    /// Bytes that are here, of files under way and of those that are there.
    public var received: Int64 = 0
    /// Bytes of all of them; `nil` while the length of one that has begun, or the number of those that have not, is not known.
    public var total: Int64?
}

/// Files that are loaded together: see ``DownloadCache/files(for:width:allOrNothing:)``.
///
/// Dropping the value does not stop it; ``cancel()`` does.
public final class FileBatch: Sendable {
    private struct State {
        var progress: BatchProgress
        var received: [Int: (bytes: Int64, total: Int64?)] = [:]
        var results: [Result<CachedFile, ImageCacheError>?]
        /// The error that ended a batch of all or nothing.
        var failure: ImageCacheError?
        var hasEnded = false
        var lastWatcher = 0
        var watchers: [Int: AsyncStream<BatchProgress>.Continuation] = [:]
        var task: Task<Void, Never>?
    }

    private let state: Locked<State>
    private let allOrNothing: Bool

    init(_ requests: [FileRequest], width: Int, allOrNothing: Bool, of cache: DownloadCache) {
        self.allOrNothing = allOrNothing
        state = Locked(
            State(
                progress: BatchProgress(requested: requests.count),
                results: Array(repeating: nil, count: requests.count)))
        let task = Task { [self] in
            await withTaskGroup(of: Void.self) { group in
                var next = 0
                func startNext() {
                    guard next < requests.count, !Task.isCancelled else { return }
                    let index = next
                    next += 1
                    group.addTask { [self] in await load(requests[index], index, of: cache) }
                }
                for _ in 0..<max(1, width) { startNext() }
                while await group.next() != nil {
                    if hasFailed { group.cancelAll() } else { startNext() }
                }
            }
            end()
        }
        state.withLock { $0.task = task }
    }

    // MARK: Results

    /// All files, in the order of the requests.
    ///
    /// - Throws: The error of the first that failed. With `allOrNothing` the others are then stopped.
    public func files() async throws(ImageCacheError) -> [CachedFile] {
        let results = await results()
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return try results.map { result throws(ImageCacheError) in try result.get() }
    }

    /// Returns the result of each request, in their order.
    public func results() async -> [Result<CachedFile, ImageCacheError>] {
        let task = state.withLock { $0.task }
        await withTaskCancellationHandler {
            await task?.value
        } onCancel: {
            cancel()
        }
        return state.withLock { $0.results.map { $0 ?? .failure(.cancelled) } }
    }

    /// Stops what is under way and nobody else waits for; what arrived is kept for the next time.
    public func cancel() { state.withLock { $0.task }?.cancel() }

    // MARK: Progress

    /// The newest progress.
    public var latestProgress: BatchProgress { state.withLock { $0.progress } }

    /// The progress of the batch, from now until it ends. A reader that is slow sees only the newest value.
    public var progress: AsyncStream<BatchProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: BatchProgress.self, bufferingPolicy: .bufferingNewest(1))
        let (id, latest) = state.withLock { state -> (Int?, BatchProgress) in
            guard !state.hasEnded else { return (nil, state.progress) }
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = continuation
            return (state.lastWatcher, state.progress)
        }
        continuation.yield(latest)
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.watchers.removeValue(forKey: id) }
        }
        return stream
    }

    // MARK: Loading

    private var hasFailed: Bool { state.withLock { $0.failure != nil } }

    private func load(_ request: FileRequest, _ index: Int, of cache: DownloadCache) async {
        let download = cache.download(request)
        let watching = Task { [weak self] in
            for await progress in download.progress {
                self?.change { $0.received[index] = (progress.received, progress.total) }
            }
        }
        defer { watching.cancel() }
        let result: Result<CachedFile, ImageCacheError>
        do throws(ImageCacheError) { result = .success(try await download.file) } catch { result = .failure(error) }
        watching.cancel()
        await watching.value
        change { state in
            state.results[index] = result
            switch result {
            case .success(let file):
                state.progress.loaded += 1
                state.received[index] = (file.size, file.size)
            case .failure(let error):
                state.progress.failed += 1
                if allOrNothing, state.failure == nil { state.failure = error }
            }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let (progress, watchers) = state.withLock { state in
            body(&state)
            state.progress.received = state.received.values.reduce(0) { $0 + $1.bytes }
            let totals = state.received.values.compactMap(\.total)
            state.progress.total = totals.count == state.progress.requested ? totals.reduce(0, +) : nil
            return (state.progress, Array(state.watchers.values))
        }
        for watcher in watchers { watcher.yield(progress) }
    }

    private func end() {
        let watchers = state.withLock { state in
            state.hasEnded = true
            defer { state.watchers = [:] }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}

extension DownloadCache {
    /// Loads several files together, with one progress.
    ///
    /// Each is a request like any other: equal ones share a transfer, stored and fresh ones cost a look-up.
    ///
    /// - Parameters:
    ///   - requests: The requests; results come in their order.
    ///   - width: How many at a time. Default 8.
    ///   - allOrNothing: Whether the first failure stops the others and is the result of all. What arrived stays in the store.
    public func files(for requests: [FileRequest], width: Int = 8, allOrNothing: Bool = false) -> FileBatch {
        FileBatch(requests, width: width, allOrNothing: allOrNothing, of: self)
    }
}
