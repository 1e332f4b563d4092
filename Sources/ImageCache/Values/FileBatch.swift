import ConcurrencyPrimitives

/// The progress of a batch of files.
public struct BatchProgress: Sendable, Equatable {
    /// Files that were asked for, that are there, and that failed.
    public var requested: Int
    public var loaded = 0
    public var failed = 0
    /// Bytes that are here, of files under way and of those that are there, without those that failed.
    public var received: Int64 = 0
    /// Bytes of all but those that failed; `nil` while the length of one is not known.
    public var total: Int64?
}

/// Files that are loaded together: see ``DownloadCache/files(for:width:allOrNothing:)``.
///
/// Dropping the value does not stop it; ``cancel()`` does.
public final class FileBatch: Sendable {
    private struct State {
        /// Those of members that failed are left out.
        var received: [Int: (bytes: Int64, total: Int64?)] = [:]
        var results: [Result<CachedFile, ImageCacheError>?]
        /// The error that ended a batch of all or nothing.
        var failure: ImageCacheError?
        var task: Task<Void, Never>?
    }

    private let state: Locked<State>
    private let urls: [String]
    private let latest: LatestValue<BatchProgress>
    private let allOrNothing: Bool

    init(_ requests: [FileRequest], width: Int, allOrNothing: Bool, of cache: DownloadCache) {
        self.allOrNothing = allOrNothing
        urls = requests.map(\.url)
        state = Locked(State(results: Array(repeating: nil, count: requests.count)))
        latest = LatestValue(BatchProgress(requested: requests.count))
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
            latest.end()
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
        let ended = state.withLock { $0.results }
        return zip(urls, ended).map { url, result in result ?? .failure(.cancelled.with(url: url)) }
    }

    /// Stops what is under way and nobody else waits for; what arrived is kept for the next time.
    public func cancel() { state.withLock { $0.task }?.cancel() }

    // MARK: Progress

    /// The newest progress.
    public var latestProgress: BatchProgress { latest.value }

    /// The progress of the batch, from now until it ends. A reader that is slow sees only the newest value.
    public var progress: AsyncStream<BatchProgress> { latest.watch() }

    // MARK: Loading

    private var hasFailed: Bool { state.withLock { $0.failure != nil } }

    private func load(_ request: FileRequest, _ index: Int, of cache: DownloadCache) async {
        let download = cache.download(request)
        let watching = Task { [weak self] in
            for await progress in download.progress {
                self?.change { state, _ in state.received[index] = (progress.received, progress.total) }
            }
        }
        defer { watching.cancel() }
        let result: Result<CachedFile, ImageCacheError>
        do throws(ImageCacheError) { result = .success(try await download.file) } catch { result = .failure(error) }
        watching.cancel()
        await watching.value
        change { state, progress in
            state.results[index] = result
            switch result {
            case .success(let file):
                progress.loaded += 1
                state.received[index] = (file.size, file.size)
            case .failure(let error):
                progress.failed += 1
                state.received[index] = nil
                if allOrNothing, state.failure == nil { state.failure = error }
            }
        }
    }

    private func change(_ body: (inout State, inout BatchProgress) -> Void) {
        state.withLock { state in
            latest.update { progress in
                body(&state, &progress)
                progress.received = state.received.values.reduce(0) { $0 + $1.bytes }
                let totals = state.received.values.compactMap(\.total)
                progress.total =
                    totals.count + progress.failed == progress.requested ? totals.reduce(0, +) : nil
            }
        }
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
