import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import Glibc
import HTTPCaching
import HTTPTypes
import Logging
import Transfer

/// A cache of files from the web: ask for a URL, get a file that is complete, fresh by RFC 9111, and one version.
///
///     let cache = try DownloadCache()
///     let file = try await cache.file(for: "https://example.com/picture.jpg")
///     print(file.path, file.size, file.source)
///
/// * Downloads survive the end of the process at any instruction: the next one continues with `Range` and `If-Range`.
/// * Equal requests under way share one transfer, in this process and among all processes on the same directory.
/// * The store keeps within its capacity; the least recently used goes first.
///
/// A cache is safe to use from any thread and task. Several caches may share a directory.
public final class DownloadCache: Sendable {
    /// The directory of the disk store.
    public let directory: String

    let fetcher: Fetcher
    let forwarder: Forwarder
    let executor: BlockingExecutor
    private let configuration: Configuration
    /// Made when the first image is asked for: a cache of files needs none of it.
    private let images = Locked<ImagePipeline?>(nil)

    /// Opens the cache in `directory` (default: ``defaultDirectory``), creating it when it does not exist.
    ///
    /// Quick: nothing is listed, libcurl is not loaded, no thread is started.
    ///
    /// - Throws: ``ImageCacheError`` with code `store`: not writable, no space for the index, capacity out of range.
    public init(directory: String? = nil, configuration: Configuration = Configuration()) throws(ImageCacheError) {
        let directory = directory ?? Self.defaultDirectory
        var storeConfiguration = configuration.store
        storeConfiguration.clock = configuration.now
        storeConfiguration.logger = configuration.logger
        storeConfiguration.migrator = RecordMigrator()
        // One more than there are cores: work here waits for the disk at times, and more threads only take turns.
        executor = BlockingExecutor(
            width: max(2, min(configuration.maxTransfers, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 1, 8)))
        do {
            let store = try DiskStore(directory: directory, configuration: storeConfiguration)
            fetcher = Fetcher(store: store, configuration: configuration, executor: executor)
            forwarder = Forwarder(fetcher: fetcher)
            if let change = store.capacityChange, change.excess > 0 {
                configuration.logger.notice(
                    "the store exceeds its new capacity; the longest unused is evicted with what is stored next",
                    metadata: ["path": "\(directory)", "capacity": "\(change.capacity)", "excess": "\(change.excess)"])
            }
        } catch {
            throw ImageCacheError(error)
        }
        self.directory = directory
        self.configuration = configuration
    }

    deinit { executor.close() }

    var pipeline: ImagePipeline {
        images.withLock { images in
            if let images { return images }
            let pipeline = ImagePipeline(fetcher: fetcher, configuration: configuration)
            images = pipeline
            return pipeline
        }
    }

    /// Forgets what is in memory of an original.
    func forgetImages(of request: FileRequest) {
        fetcher.answers.forget(CacheKey.normalized(request.url))
        images.withLock { $0 }?.memory.removeVariants(of: ImageKey.Original(request))
    }

    func forgetImages() {
        fetcher.answers.forgetAll()
        images.withLock { $0 }?.memory.removeAll()
    }

    // MARK: Getting files

    /// The file for a request: from the store if that may be, else from the origin.
    ///
    /// Cancelling the calling task ends this call at once; the transfer stops when nobody else waits for it, and what
    /// arrived is kept for the next time.
    public func file(for request: FileRequest) async throws(ImageCacheError) -> CachedFile {
        try await download(request).file()
    }

    /// The file for a request if the store has it and may serve it without asking the origin; else `nil`.
    ///
    /// Synchronous: some file and index operations on the calling thread, no other thread, no network. The answer is the
    /// one that ``file(for:)`` would give.
    public func storedFile(for request: FileRequest) throws(ImageCacheError) -> CachedFile? {
        do throws(ImageCacheError) {
            return try fetcher.stored(request)
        } catch {
            throw error.with(url: request.url)
        }
    }

    /// Starts, or joins, the load of a request: for progress and for the file.
    public func download(_ request: FileRequest) -> Download {
        Download(request: request, subscription: fetcher.reachingMirrors(of: request).subscribe(to: request))
    }

    /// The answer to a request for a part of a file (`Range`, `If-Range`: RFC 9110 section 14), for its head alone (HEAD), or
    /// for the file if it changed (`If-None-Match`, `If-Modified-Since`: section 13), as HTTP gives it.
    ///
    /// What is stored answers, also an unfinished download that covers the range; what is missing is loaded as by
    /// ``file(for:)``: all of the file, because the cache will be asked for the rest. HEAD loads no body; what it says is
    /// taken over by the stored response, or makes it invalid (RFC 9111 section 4.3.5).
    ///
    /// - Throws: As ``file(for:)``; an error status of the origin is an error here too. `only-if-cached` is answered with 504.
    public func answer(to request: FileRequest) async throws(ImageCacheError) -> CachedAnswer {
        do throws(ImageCacheError) {
            let resolved = try ResolvedRequest(narrow: request)
            let fetcher = fetcher
            let stored = try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
                if let stored = try fetcher.storedAnswer(resolved) {
                    if stored.needsRefresh { fetcher.revalidateInBackground(resolved) }
                    return stored.answer as CachedAnswer?
                }
                return request.method == .head ? try await fetcher.head(resolved) : nil
            }
            if let stored { return stored }
            return try fetcher.answer(resolved, from: try await file(for: resolved.request))
        } catch {
            throw error.with(url: request.url)
        }
    }

    /// Answers any request as a cache between a client and its origin does (RFC 9110 section 7.6, RFC 9111): for a proxy.
    ///
    /// * Redirects are not followed, and every status is an answer, with its content.
    /// * The head is there as soon as it is known, and the content comes while it arrives.
    /// * GET and HEAD are answered from the store where the rules allow it, also for a range and for a client's own
    ///   conditions, and fill it: one request to the origin for all who ask at a time, continued by range when it is cut.
    /// * What must not be stored goes past the store, at the pace of the one who reads it; so does everything that is not
    ///   GET or HEAD. A POST, PUT or DELETE that works makes what is stored for its URL invalid (RFC 9111 section 4.4).
    ///
    /// The request's fields should be end-to-end ones; `Accept-Encoding` is not sent on, because a body that is to be
    /// continued must come as it is.
    ///
    /// - Throws: When there is no answer at all: the origin cannot be reached and nothing stale may take its place, or
    ///   ``ImageCacheError/Code/cancelled``.
    public func exchange(_ request: FileRequest) async throws(ImageCacheError) -> ForwardedAnswer {
        var request = request
        request.transfer.passesEveryStatus = true
        request.transfer.maxRedirects = 0
        request.unstorable = .handOut
        do throws(ImageCacheError) {
            return try await forwarder.answer(request)
        } catch {
            throw error.with(url: request.url)
        }
    }

    /// What ``exchange(_:)`` would answer from the store, if it is in memory: for an event loop.
    ///
    /// Takes microseconds; no file, no lock that is held for long, no thread. `nil` says nothing of the store: ask
    /// ``exchange(_:)``, after which a small, fresh file is in memory.
    public func readyAnswer(to request: FileRequest) -> ReadyAnswer? { fetcher.answers.answer(to: request) }

    /// The stored file at once, however stale, and then, if the origin has another one, that.
    ///
    /// For a page that shows yesterday's picture while today's loads. Ends after one file when the stored one still
    /// holds, or when nothing was stored; fails like ``file(for:)``, after the stored file was delivered.
    public func files(for request: FileRequest) -> AsyncThrowingStream<CachedFile, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    var stored = request
                    stored.policy = .returnCacheDataDontLoad
                    let first = try? await file(for: stored)
                    if let first { continuation.yield(first) }
                    var current = request
                    current.awaitsRevalidation = true
                    let second = try await file(for: current)
                    if second.path != first?.path { continuation.yield(second) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// The loads under way, with their URLs and progress.
    public var running: [(url: String, progress: DownloadProgress)] {
        fetcher.pool.contexts.map { ($0.url, $0.latest) }
    }

    // MARK: Cancelling

    /// Stops every load under way; what arrived is kept for the next time.
    public func cancelAll() { fetcher.pool.cancel { _ in true } }

    /// Stops the loads of a URL, for everybody who waits for them.
    public func cancel(_ url: String) { fetcher.pool.cancel { $0.url == url } }

    /// Writes out what is batched, ends the transfer thread, and lets go of the directory. Loads under way fail.
    public func close() async {
        cancelAll()
        await fetcher.close()
    }
    /// Closes the cache and removes its directory with everything in it.
    public func destroy() async {
        await close()
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// A load under way, joined with all equal ones.
///
/// Dropping the last `Download` of a load stops it.
public final class Download: Sendable {
    public let request: FileRequest
    private let subscription: FetchPool.Subscription

    init(request: FileRequest, subscription: FetchPool.Subscription) {
        self.request = request
        self.subscription = subscription
    }

    /// The file, when it is there. Ends with ``ImageCacheError/Code/cancelled`` as soon as the calling task is cancelled.
    public func file() async throws(ImageCacheError) -> CachedFile {
        try await subscription.value().sharing(!subscription.isFirst)
    }

    /// Writes the body to a file descriptor while it arrives, and gives the file when it is whole.
    ///
    /// The reader never holds up the transfer: bytes go to disk first and are read back from there.
    ///
    /// Fails with ``ImageCacheError/Code/wrongBytes`` when the representation changed at the origin after the first bytes
    /// of the old one had been written: what was written cannot be taken back, and two versions are never joined.
    public func copy(toDescriptor descriptor: Int32) async throws(ImageCacheError) -> CachedFile {
        let body = GrowingBody(growth: growth, subscription: subscription, url: request.url)
        for try await piece in body {
            switch piece {
            case .stored(let source, let range): try copyBytes(range, of: source, to: descriptor)
            case .bytes(let bytes): try copyBytes(bytes, to: descriptor)
            }
        }
        return try await file()
    }

    /// How far the download is, from now until it ends. A reader that is slow sees only the newest value; the transfer
    /// never waits for it.
    public var progress: AsyncStream<DownloadProgress> { subscription.context.watch() }

    /// The newest progress.
    public var latestProgress: DownloadProgress { subscription.context.latest }

    /// How far the body has grown on disk.
    var growth: BodyGrowth { subscription.context.growth }

    /// Stops the load for everybody who waits for it.
    public func cancel() { subscription.cancelTask() }
}
