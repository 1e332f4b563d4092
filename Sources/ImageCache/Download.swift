import ConcurrencyPrimitives
public import Transfer

/// A download under way, shared by all equal requests.
///
/// Releasing the last `Download` of a transfer stops it; what arrived is kept for the next time.
public final class Download: Sendable {
    public let request: FileRequest
    private let subscription: FetchPool.Subscription

    init(request: FileRequest, subscription: FetchPool.Subscription) {
        self.request = request
        self.subscription = subscription
    }

    /// The complete file, once it is there. Throws ``ImageCacheError/Code/cancelled`` as soon as the calling task is cancelled.
    public var file: CachedFile {
        get async throws(ImageCacheError) {
            do throws(ImageCacheError) {
                return try await subscription.value().sharing(!subscription.isFirst)
            } catch {
                throw error.with(url: request.url)
            }
        }
    }

    /// Writes the body to a file descriptor while it arrives, and returns the complete file.
    ///
    /// The reader never holds up the transfer: bytes go to disk first and are read back from there.
    ///
    /// - Throws: ``ImageCacheError/Code/wrongBytes`` when the representation changed at the origin after the first bytes
    ///   of the old one had been written: two versions are never joined.
    public func copy(toDescriptor descriptor: Int32) async throws(ImageCacheError) -> CachedFile {
        try await withTaskExecutorPreference(BlockingExecutor.copies) { () async throws(ImageCacheError) in
            let body = GrowingBody(growth: growth, subscription: subscription, url: request.url)
            for try await piece in body {
                switch piece {
                case .stored(let source, let range): try copyBytes(range, of: source, to: descriptor)
                case .bytes(let bytes): try copyBytes(bytes, to: descriptor)
                }
            }
        }
        return try await file
    }

    /// The progress from now until the download ends, for a file that is there with ``DownloadProgress/Phase/finished``. A slow reader sees only the newest value; the transfer never waits for it.
    public var progress: AsyncStream<DownloadProgress> { subscription.context.watch() }

    /// The newest progress.
    public var latestProgress: DownloadProgress { subscription.context.latest }

    /// Raises the transfer's priority; a lower one than it has is ignored.
    public func raise(to priority: TransferPriority) { subscription.context.raise(to: priority) }

    /// The growth of the body on disk.
    var growth: BodyGrowth { subscription.context.growth }

    /// Stops the download for everybody who waits for it.
    public func cancel() { subscription.cancelTask() }
}
