import ConcurrencyPrimitives
public import FoundationEssentials
public import ImageCodec
public import MemoryCache
import Synchronization
package import Units
import WorkerProcesses

extension DownloadCache {
    /// A decoded image: from memory, from disk, or decoded straight to the requested size.
    ///
    /// Equal requests share one download and one decode. Requests for several sizes of one original share the download and, where
    /// their pixels come from the same decoded rows, the decode; an image is the same whatever else is requested. Each
    /// caller may cancel alone, and work that nobody waits for is stopped. Decodes run on threads of their own, limited in number by
    /// ``Configuration/maxDecodes`` and in memory by ``Configuration/decodingMemory``.
    ///
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, and ``ImageCacheError/Code/undecodable(_:)``.
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

    /// A decoded image of a URL, in a size; `nil`: the size of the original.
    public func image(
        for url: String, resizedTo sizing: ImageSizing? = nil
    ) async throws(ImageCacheError) -> CachedImage {
        try await image(for: ImageRequest(url, sizing))
    }

    /// A decoded image of a URL, in a size; `nil`: the size of the original.
    public func image(
        for url: URL, resizedTo sizing: ImageSizing? = nil
    ) async throws(ImageCacheError) -> CachedImage {
        try await image(for: ImageRequest(url, sizing))
    }

    /// The bytes of an image file in a size and format.
    ///
    /// Kept in memory and on disk beside its original, and rendered anew when the original has changed.
    ///
    /// - Parameters:
    ///   - request: The original, and the size and effects to apply.
    ///   - encoder: Default: JPEG of quality 80, with transparency flattened onto white.
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, and ``ImageCacheError/Code/undecodable(_:)``.
    public func thumbnail(
        for request: ImageRequest, as encoder: ImageEncoder = .jpeg()
    ) async throws(ImageCacheError) -> Thumbnail {
        try await thumbnail(for: request, as: ThumbnailEncoding.encoder(encoder))
    }

    /// The bytes of an image file in a size, and in a format that may depend on the original's.
    ///
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, and ``ImageCacheError/Code/undecodable(_:)``.
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

    /// The bytes of an image file of a URL, in a size and format.
    public func thumbnail(
        for url: String, resizedTo sizing: ImageSizing, as encoder: ImageEncoder = .jpeg()
    ) async throws(ImageCacheError) -> Thumbnail {
        try await thumbnail(for: ImageRequest(url, sizing), as: encoder)
    }

    /// The bytes of an image file of a URL, in a size and format.
    public func thumbnail(
        for url: URL, resizedTo sizing: ImageSizing, as encoder: ImageEncoder = .jpeg()
    ) async throws(ImageCacheError) -> Thumbnail {
        try await thumbnail(for: ImageRequest(url, sizing), as: encoder)
    }

    /// The thumbnail if it is in memory and may be used without asking the origin; else `nil`.
    ///
    /// A look-up under a lock, microseconds: fit for an event loop.
    public func hotThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) -> Thumbnail? {
        guard request.file.isPlainGet else { return nil }
        return pipeline.inMemory(ImageKey(request, encoding.output, by: fetcher.rules), request).flatMap {
            Thumbnail($0, .memory)
        }
    }

    /// The thumbnail if it is on disk and may be used without asking the origin; else `nil`, also if the store cannot be read.
    package func storedThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) async -> Thumbnail? {
        let key = ImageKey(request, encoding.output, by: fetcher.rules)
        guard let image = try? await pipeline.freshStoredImage(request, key.recipe) else { return nil }
        pipeline.keep(image, for: key)
        return Thumbnail(image, .thumbnail)
    }

    /// Counts another use of a thumbnail that ``hotThumbnail(for:as:)`` returned, without looking it up. False if its
    /// original was changed or invalidated since. Its freshness is not looked at.
    package func useAgain(_ thumbnail: Thumbnail) -> Bool {
        guard fetcher.store.isCurrent(thumbnail.derived.generation) else { return false }
        pipeline.reuses.wrappingAdd(1, ordering: .relaxed)
        return true
    }

    /// The work on images since the cache was opened.
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

    /// Starts the helper of ``Configuration/decoderIsolation`` now instead of with the first image; the log says why if that fails.
    package func startDecoderIsolation() { _ = pipeline.renderer.isolation?.start() }

    /// False while ``Configuration/decoderIsolation`` is required and no worker can be started. Asked after a pause, it has another try begin;
    /// it does not wait.
    package var canDecodeImages: Bool {
        let renderer = pipeline.renderer
        guard let isolation = renderer.isolation, !isolation.isOptional, isolation.isUnavailable else { return true }
        Task(executorPreference: renderer.executor) { _ = isolation.start() }
        return false
    }

    /// Purges the memory caches of images and values: on a warning down to the preferred usage, at a critical level all of them.
    /// Called by the cache itself with ``Configuration/watchesMemoryPressure``.
    public func respond(to pressure: MemoryPressure) {
        pipeline.memory.respond(to: pressure)
        valuesIfUsed?.respond(to: pressure)
    }
}

/// The format of a thumbnail.
public enum ThumbnailEncoding: Sendable, Hashable {
    case encoder(ImageEncoder)
    /// JPEG for a JPEG, PNG for a PNG, GIF for an animation that stays one (``ImageRequest/keepsAnimation``); for others PNG if there is
    /// transparency, else JPEG: for clients that read nothing else.
    case likeOriginal(ImageEncoder.JPEGOptions)
    /// AVIF for a thumbnail whose area is one of `ImageEncoder.AVIFOptions.worthwhileAreas`, else WebP.
    case avifIfLarge(ImageEncoder.AVIFOptions, else: ImageEncoder.WebPOptions)
    /// An `ImageDescription` as JSON, of the original.
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

/// The work on images since the cache was opened.
public struct ImageStatistics: Sendable {
    /// Files that were decoded.
    public var decodes = 0
    /// Images that were resized.
    public var resizes = 0
    /// Images that were encoded for a caller.
    public var encodes = 0
    /// Images rendered from originals with damaged data.
    public var damaged = 0
    /// Worker processes that ended in the middle of an image (``DecoderIsolation``).
    public internal(set) var crashes = 0
    /// Worker processes that took the place of another: after a crash, at a limit, after the last client had left, for the memory that it
    /// kept, or after long work.
    public internal(set) var workerReplacements = 0
    /// False while no worker process can be started; `nil` without ``DecoderIsolation``.
    package internal(set) var hasWorkers: Bool?
    /// The most bytes that concurrent decodes were estimated to take.
    public internal(set) var peakDecodingMemory = 0
    /// The memory cache: usage, hits, misses, purges.
    public internal(set) var memory: MemoryCacheStatistics?
    /// The CPU times of the steps.
    package internal(set) var times = ImageTimes()
}

/// The CPU times of the steps from a file to an image.
package struct ImageTimes: Sendable {
    /// One of each file that was decoded, for however many images.
    package internal(set) var decode = DurationHistogram()
    /// One of each image: resizing, colours, rotation, effects.
    package internal(set) var process = DurationHistogram()
    /// One of each image that was encoded for a caller.
    package internal(set) var encode = DurationHistogram()
}
