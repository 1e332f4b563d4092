import ConcurrencyPrimitives
public import Transfer

/// A running download, shared by all equal requests.
///
/// Releasing the last `Download` of a transfer stops it. Received bytes are kept, so that a later request resumes.
public final class Download: Sendable {
    public let request: FileRequest
    private let subscription: FetchPool.Subscription

    init(request: FileRequest, subscription: FetchPool.Subscription) {
        self.request = request
        self.subscription = subscription
    }

    /// The complete file, when the download ends. Throws ``ImageCacheError/Code/cancelled`` as soon as the calling task is cancelled.
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
    /// The bytes are read back from disk, so a slow descriptor does not delay the transfer.
    ///
    /// - Throws: ``ImageCacheError/Code/wrongBytes`` if the representation at the origin changed after some bytes had been written. Two
    ///   versions are never mixed.
    public func copy(toDescriptor descriptor: Int32) async throws(ImageCacheError) -> CachedFile {
        try await withTaskExecutorPreference(BlockingExecutor.copies) { () async throws(ImageCacheError) in
            let body = LiveBody(bodyProgress: bodyProgress, subscription: subscription, url: request.url)
            for try await piece in body {
                switch piece {
                case .stored(let source, let range): try copyBytes(range, of: source, to: descriptor)
                case .bytes(let bytes): try copyBytes(bytes, to: descriptor)
                }
            }
        }
        return try await file
    }

    /// The progress from now until the end of the download; for a stored file, ``DownloadProgress/Phase/finished``. A slow reader gets only
    /// the latest value and does not delay the transfer.
    public var progress: AsyncStream<DownloadProgress> { subscription.context.watch() }

    /// The current progress.
    public var latestProgress: DownloadProgress { subscription.context.latest }

    /// Raises the transfer's priority. A lower priority than the current one is ignored.
    public func raise(to priority: TransferPriority) { subscription.context.raise(to: priority) }

    /// The progress of the body on disk.
    var bodyProgress: BodyProgress { subscription.context.bodyProgress }

    /// Stops the download for all callers that wait for it.
    public func cancel() { subscription.cancelTask() }
}
