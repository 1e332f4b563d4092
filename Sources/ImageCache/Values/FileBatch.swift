import ConcurrencyPrimitives

/// The progress of a batch of files.
public struct BatchProgress: Sendable, Equatable {
    /// The numbers of files that were requested, are complete, and have failed.
    public var requested: Int
    public var loaded = 0
    public var failed = 0
    /// The received bytes of running and complete files, without failed ones.
    public var received: Int64 = 0
    /// The total length in bytes of all files without failed ones; `nil` while a length is unknown.
    public var total: Int64?
}

/// Files that are loaded together; see ``DownloadCache/files(for:width:allOrNothing:)``.
///
/// Releasing the batch does not stop it; call ``cancel()``.
public final class FileBatch: Sendable {
    private struct Received {
        var bytes: Int64
        /// The length of the file, if it is known.
        var total: Int64?
    }

    private struct State {
        /// The bytes by index of the request, without failed files.
        private var received: [Int: Received] = [:]
        /// The sums of ``received``, and the number of known lengths.
        private(set) var bytes: Int64 = 0
        /// Origins declare the lengths, whose sum may have no 64-bit number.
        private(set) var totals: Int128 = 0
        private(set) var knownTotals = 0
        var results: [Result<CachedFile, ImageCacheError>?]
        /// The error that ended an all-or-nothing batch.
        var failure: ImageCacheError?
        var task: Task<Void, Never>?

        init(count: Int) { results = Array(repeating: nil, count: count) }

        /// Sets what was received of a file; `nil` for a failed one.
        mutating func set(_ new: Received?, at index: Int) {
            let old = received[index]
            received[index] = new
            bytes += (new?.bytes ?? 0) - (old?.bytes ?? 0)
            totals += Int128(new?.total ?? 0) - Int128(old?.total ?? 0)
            knownTotals += (new?.total == nil ? 0 : 1) - (old?.total == nil ? 0 : 1)
        }
    }

    private let state: Locked<State>
    private let lookups = LookupAhead()
    private let urls: [String]
    private let latest: LatestValue<BatchProgress>
    private let allOrNothing: Bool

    init(_ requests: [FileRequest], width: Int, allOrNothing: Bool, of cache: DownloadCache) {
        self.allOrNothing = allOrNothing
        urls = requests.map(\.url)
        state = Locked(State(count: requests.count))
        latest = LatestValue(BatchProgress(requested: requests.count))
        let task = Task { [self] in
            await withTaskGroup(of: Void.self) { group in
                var next = 0
                func startNext() {
                    guard next < requests.count, !Task.isCancelled else { return }
                    let index = next
                    next += 1
                    group.addTask { [self] in await load(index, of: requests, from: cache) }
                }
                for _ in 0..<min(requests.count, max(1, width)) { startNext() }
                while await group.next() != nil {
                    if hasFailed { group.cancelAll() } else { startNext() }
                }
            }
            latest.end()
        }
        state.withLock { $0.task = task }
    }

    // MARK: Results

    /// All files in the order of the requests.
    ///
    /// - Throws: The error of the first request that failed. With `allOrNothing`, the first failure also stops all others.
    public func files() async throws(ImageCacheError) -> [CachedFile] {
        let results = await results()
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return try results.map { result throws(ImageCacheError) in try result.get() }
    }

    /// The result of each request, in their order. Cancelling the calling task cancels the batch.
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

    /// Starts no further requests, and stops transfers that no other caller waits for. Received bytes are kept, so that a later request resumes.
    /// The result of files that are not complete is ``ImageCacheError/Code/cancelled``.
    public func cancel() { state.withLock { $0.task }?.cancel() }

    // MARK: Progress

    /// The current progress.
    public var latestProgress: BatchProgress { latest.value }

    /// The progress from now until the end of the batch. A slow reader gets only the latest value.
    public var progress: AsyncStream<BatchProgress> { latest.watch() }

    // MARK: Loading

    private var hasFailed: Bool { state.withLock { $0.failure != nil } }

    private func load(_ index: Int, of requests: [FileRequest], from cache: DownloadCache) async {
        var request = requests[index]
        let outcome = await cache.lookUp(index, of: requests, lookups)
        if let file = outcome.file { return end(index, .success(file)) }
        request.lookedUp = outcome.lookedUp
        let download = cache.download(request)
        let watching = Task { [weak self] in
            for await progress in download.progress {
                self?.change { state, _ in
                    state.set(Received(bytes: progress.received, total: progress.total), at: index)
                }
            }
        }
        defer { watching.cancel() }
        let result: Result<CachedFile, ImageCacheError>
        do throws(ImageCacheError) { result = .success(try await download.file) } catch { result = .failure(error) }
        watching.cancel()
        await watching.value
        end(index, result)
    }

    private func end(_ index: Int, _ result: Result<CachedFile, ImageCacheError>) {
        change { state, progress in
            state.results[index] = result
            switch result {
            case .success(let file):
                progress.loaded += 1
                state.set(Received(bytes: file.size, total: file.size), at: index)
            case .failure(let error):
                progress.failed += 1
                state.set(nil, at: index)
                if allOrNothing, state.failure == nil { state.failure = error }
            }
        }
    }

    private func change(_ body: (inout State, inout BatchProgress) -> Void) {
        state.withLock { state in
            latest.update { progress in
                body(&state, &progress)
                progress.received = state.bytes
                progress.total =
                    state.knownTotals + progress.failed == progress.requested ? Int64(clamping: state.totals) : nil
            }
        }
    }
}

extension DownloadCache {
    /// Loads several files in parallel, with a common progress.
    ///
    /// Each request behaves as in ``file(for:)-(FileRequest)``: equal requests share a transfer.
    ///
    /// - Parameters:
    ///   - requests: The requests; results have the same order.
    ///   - width: The number of files that are loaded in parallel. Default 8.
    ///   - allOrNothing: True to stop at the first failure, which is then the result of the batch. Received bytes are kept.
    public func files(for requests: [FileRequest], width: Int = 8, allOrNothing: Bool = false) -> FileBatch {
        FileBatch(requests, width: width, allOrNothing: allOrNothing, of: self)
    }
}
