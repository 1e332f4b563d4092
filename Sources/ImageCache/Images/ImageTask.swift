import ConcurrencyPrimitives
public import FoundationEssentials
public import ImageCodec
public import Transfer

/// A running request for an image.
///
///     let task = cache.imageTask(for: "https://example.com/picture.jpg", resizedTo: .fit(512, 512))
///     for await progress in task.progress { show(progress.received, of: progress.total) }
///     let image = try await task.image
///
/// Equal requests share the work. Releasing the task before its end cancels it like ``cancel()``.
public final class ImageTask: Sendable {
    public let request: ImageRequest
    private let result = Promise<Result<CachedImage, ImageCacheError>>()
    /// The work; `nil` if the image was in memory or the request is invalid.
    private let work: ImageWork?
    private let waiting: Task<Void, Never>?

    init(_ request: ImageRequest, in pipeline: ImagePipeline) {
        self.request = request
        let url = request.file.url
        do throws(ImageCacheError) {
            switch try pipeline.begin(request, .pixels) {
            case .inMemory(let image):
                (work, waiting) = (nil, nil)
                result.fulfill(Self.outcome(image, url))
            case .running(let subscription):
                work = subscription.context
                waiting = Task { [result] in
                    switch await subscription.outcome() {
                    case .success(let image): result.fulfill(Self.outcome(image, url))
                    case .failure(let error): result.fulfill(.failure(error.with(url: url)))
                    }
                }
            }
        } catch {
            (work, waiting) = (nil, nil)
            result.fulfill(.failure(error.with(url: url)))
        }
    }

    deinit { waiting?.cancel() }

    private static func outcome(
        _ rendered: ImagePipeline.RenderedImage, _ url: String
    ) -> Result<CachedImage, ImageCacheError> {
        guard let image = CachedImage(rendered.image, rendered.source) else {
            return .failure(ImageCacheError(.undecodable(.failed), url: url, message: "no pixels"))
        }
        return .success(image)
    }

    /// The image, when it is rendered. Throws ``ImageCacheError/Code/cancelled`` as soon as the calling task is cancelled; the image task
    /// continues.
    public var image: CachedImage {
        get async throws(ImageCacheError) {
            try (await result.value() ?? .failure(.cancelled.with(url: request.file.url))).get()
        }
    }

    /// The progress of the original's download from now until the image is rendered; empty for an image in memory. A slow reader gets only
    /// the latest value.
    public var progress: AsyncStream<DownloadProgress> {
        work?.watch() ?? AsyncStream { $0.finish() }
    }

    /// The priority of the download, and of the decode until it is queued: the highest priority of all requests for the image. Setting a
    /// lower one has no effect.
    public var priority: TransferPriority {
        get { work?.priority ?? request.file.priority }
        set { work?.raise(to: newValue) }
    }

    /// Ends this task with ``ImageCacheError/Code/cancelled``. The work stops if no other request waits for it.
    public func cancel() { waiting?.cancel() }
}

extension DownloadCache {
    /// Starts the work for an image, or joins running work, with access to its progress and priority.
    public func imageTask(for request: ImageRequest) -> ImageTask { ImageTask(request, in: pipeline) }

    /// Starts or joins the work for the image at a URL in a size; `nil` for the original size.
    public func imageTask(for url: String, resizedTo sizing: ImageSizing? = nil) -> ImageTask {
        imageTask(for: ImageRequest(url, sizing))
    }

    /// Starts or joins the work for the image at a URL in a size; `nil` for the original size.
    public func imageTask(for url: URL, resizedTo sizing: ImageSizing? = nil) -> ImageTask {
        imageTask(for: ImageRequest(url, sizing))
    }
}
