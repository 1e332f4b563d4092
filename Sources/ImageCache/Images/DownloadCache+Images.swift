import ConcurrencyPrimitives
public import FoundationEssentials
public import ImageCodec
public import ImageEffects
public import MemoryCache
import Synchronization
package import Units
import WorkerProcesses

extension DownloadCache {
    /// A decoded image: from memory, from disk, or decoded to the requested size.
    ///
    /// Equal requests share one download and one decode. Requests for several sizes of one original share the download and, if their pixels
    /// come from the same decoded rows, the decode. The result does not depend on other requests. Cancelling one request does not affect
    /// others; work without requests is stopped. Decodes run on their own threads, limited by ``Configuration/maxDecodes`` and
    /// ``Configuration/decodingMemory``.
    ///
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, or ``ImageCacheError/Code/undecodable(_:)``.
    public func image(for request: ImageRequest) async throws(ImageCacheError) -> CachedImage {
        do throws(ImageCacheError) {
            let rendered = try await pipeline.image(for: request, .pixels)
            guard let image = CachedImage(rendered.image, rendered.source) else {
                throw ImageCacheError(.undecodable(.failed), message: "no pixels")
            }
            return image
        } catch {
            throw error.with(url: request.file.url)
        }
    }

    /// The decoded image at a URL in a size; `nil` for the original size.
    public func image(
        for url: String, resizedTo sizing: ImageSizing? = nil
    ) async throws(ImageCacheError) -> CachedImage {
        try await image(for: ImageRequest(url, sizing))
    }

    /// The decoded image at a URL in a size; `nil` for the original size.
    public func image(
        for url: URL, resizedTo sizing: ImageSizing? = nil
    ) async throws(ImageCacheError) -> CachedImage {
        try await image(for: ImageRequest(url, sizing))
    }

    /// The bytes of an image file in a size and format.
    ///
    /// The thumbnail is kept in memory, and on disk next to its original. It is rendered again when the original has changed.
    ///
    /// - Parameters:
    ///   - request: The original, the size and the effects.
    ///   - encoder: The format. Default: JPEG with quality 80, with transparency flattened onto white.
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, or ``ImageCacheError/Code/undecodable(_:)``.
    public func thumbnail(
        for request: ImageRequest, as encoder: ImageEncoder = .jpeg()
    ) async throws(ImageCacheError) -> Thumbnail {
        try await thumbnail(for: request, as: ThumbnailEncoding.encoder(encoder))
    }

    /// The bytes of an image file in a size, and in a format that may depend on the original's format.
    ///
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, or ``ImageCacheError/Code/undecodable(_:)``.
    public func thumbnail(
        for request: ImageRequest, as encoding: ThumbnailEncoding
    ) async throws(ImageCacheError) -> Thumbnail {
        do throws(ImageCacheError) {
            let rendered = try await pipeline.image(for: request, encoding.output)
            guard let thumbnail = Thumbnail(rendered.image, rendered.source) else {
                throw ImageCacheError(.undecodable(.failed), message: "no bytes")
            }
            return thumbnail
        } catch {
            throw error.with(url: request.file.url)
        }
    }

    /// The bytes of the image file at a URL in a size and format.
    public func thumbnail(
        for url: String, resizedTo sizing: ImageSizing, as encoder: ImageEncoder = .jpeg()
    ) async throws(ImageCacheError) -> Thumbnail {
        try await thumbnail(for: ImageRequest(url, sizing), as: encoder)
    }

    /// The bytes of the image file at a URL in a size and format.
    public func thumbnail(
        for url: URL, resizedTo sizing: ImageSizing, as encoder: ImageEncoder = .jpeg()
    ) async throws(ImageCacheError) -> Thumbnail {
        try await thumbnail(for: ImageRequest(url, sizing), as: encoder)
    }

    /// The thumbnail if it is in memory and may be used without contacting the origin; otherwise `nil`.
    ///
    /// Takes microseconds and only short locks, so it can be called on an event loop.
    public func hotThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) -> Thumbnail? {
        guard request.file.isPlainGet else { return nil }
        return pipeline.inMemory(ImageKey(request, encoding.output, by: fetcher.rules), request).flatMap {
            Thumbnail($0, .memory)
        }
    }

    /// The thumbnail if it is on disk and may be used without contacting the origin; otherwise `nil`, also if the store cannot be read.
    package func storedThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) async -> Thumbnail? {
        let key = ImageKey(request, encoding.output, by: fetcher.rules)
        guard let image = try? await pipeline.freshStoredImage(request, key.recipe) else { return nil }
        pipeline.keep(image.image, for: key)
        return Thumbnail(image.image, image.source)
    }

    /// Counts another use of a thumbnail from ``hotThumbnail(for:as:)`` without looking it up. Returns false if the original has changed or
    /// was invalidated since. Does not check the freshness.
    package func useAgain(_ thumbnail: Thumbnail) -> Bool {
        guard fetcher.store.isCurrent(thumbnail.derived.generation) else { return false }
        pipeline.reuses.wrappingAdd(1, ordering: .relaxed)
        return true
    }

    /// The statistics of images since the cache was opened.
    public var imageStatistics: ImageStatistics {
        var statistics = pipeline.statistics
        statistics.memory = pipeline.memory.statistics
        statistics.memory?.counts.hits += pipeline.reuses.load(ordering: .relaxed)
        statistics.peakDecodingMemory = pipeline.peakDecodingMemory
        if let isolation = pipeline.renderer.isolation {
            let workers = isolation.statistics
            statistics.crashes = workers.crashes
            statistics.workerReplacements = workers.replacements
            statistics.hasWorkers = !isolation.isUnavailable
        }
        return statistics
    }

    /// Starts the helper of ``Configuration/decoderIsolation`` before the first image. A failure is logged.
    package func startDecoderIsolation() { _ = pipeline.renderer.isolation?.start() }

    /// False while ``Configuration/decoderIsolation`` is required and no worker can be started. In that case, starts another attempt after
    /// a pause, without waiting for its result.
    package var canDecodeImages: Bool {
        let renderer = pipeline.renderer
        guard let isolation = renderer.isolation, !isolation.isOptional, isolation.isUnavailable else { return true }
        Task(executorPreference: renderer.executor) { _ = isolation.start() }
        return false
    }

    /// Purges the memory caches of images and values: to the preferred usage for a warning, completely at a critical level. The cache calls
    /// it itself with ``Configuration/watchesMemoryPressure``.
    public func respond(to pressure: MemoryPressure) {
        pipeline.memory.respond(to: pressure)
        valuesIfUsed?.respond(to: pressure)
    }
}

/// The format of a thumbnail.
public enum ThumbnailEncoding: Sendable, Hashable {
    case encoder(ImageEncoder)
    /// JPEG for a JPEG, PNG for a PNG, GIF for an animation that keeps its frames (``ImageRequest/keepsAnimation``). For other originals
    /// PNG if there is transparency, otherwise JPEG. For clients that support no other formats.
    case likeOriginal(ImageEncoder.JPEGOptions)
    /// AVIF for a thumbnail whose area is in `ImageEncoder.AVIFOptions.worthwhileAreas`, otherwise WebP.
    case avifIfLarge(ImageEncoder.AVIFOptions, else: ImageEncoder.WebPOptions)
    /// An `ImageDescription` of the original as JSON.
    case description

    var output: ImageRecipe.Output {
        switch self {
        case .encoder(let encoder): .encoded(encoder)
        case .likeOriginal(let options): .likeOriginal(options)
        case .avifIfLarge(let avif, let webP): .avifIfLarge(avif, else: webP)
        case .description: .description
        }
    }
}

extension ThumbnailEncoding {
    /// A placeholder as `text/plain`, or as a JSON object with one member.
    public static func placeholder(_ placeholder: Placeholder, asJSON: Bool = false) -> ThumbnailEncoding {
        .encoder(ImageEncoder(PlaceholderEncoding(placeholder: placeholder, isJSON: asJSON)))
    }
}

/// The statistics of images since the cache was opened.
public struct ImageStatistics: Sendable {
    /// The number of decoded files.
    public var decodes = 0
    /// The number of resized images.
    public var resizes = 0
    /// The number of images that were encoded for callers.
    public var encodes = 0
    /// The number of images that are waiting for the download of their originals.
    package internal(set) var waiting = 0
    /// The number of images rendered from originals with damaged data.
    public var damaged = 0
    /// The number of worker processes that crashed while rendering (``DecoderIsolation``).
    public internal(set) var crashes = 0
    /// The number of worker processes that replaced others: after a crash, at a limit, after the last client had left, because of retained
    /// memory, or after long work.
    public internal(set) var workerReplacements = 0
    /// False while no worker process can be started; `nil` without ``DecoderIsolation``.
    package internal(set) var hasWorkers: Bool?
    /// The highest estimated memory of concurrent decodes, in bytes.
    public internal(set) var peakDecodingMemory = 0
    /// The statistics of the memory cache.
    public internal(set) var memory: MemoryCacheStatistics?
    /// The CPU times of the steps.
    package internal(set) var times = ImageTimes()
}

/// The CPU times of the steps from a file to an image.
package struct ImageTimes: Sendable {
    /// One value for each decoded file, even if it is for several images.
    package internal(set) var decode = DurationHistogram()
    /// One value for each image: resizing, colours, rotation and effects.
    package internal(set) var process = DurationHistogram()
    /// One value for each image that was encoded for a caller.
    package internal(set) var encode = DurationHistogram()
}
