public import ImageCodec
public import MemoryCache

extension DownloadCache {
    /// A decoded image: from memory, from disk, or decoded now, straight to the size that was asked for.
    ///
    /// Equal requests share one download and one decode, and requests for several sizes of one original the download and, where they
    /// come in time and their pixels come of the same decoded rows, the decode; an image is the same whatever else is asked for. Each
    /// caller may cancel alone, and what nobody waits for any more ends while it runs. Decodes run on threads of their own, as many at a
    /// time as ``Configuration/maxDecodes`` says and their memory allows.
    ///
    /// - Throws: What ``file(for:)`` throws, and ``ImageCacheError/Code/undecodable(_:)``.
    public func image(for request: ImageRequest) async throws(ImageCacheError) -> CachedImage {
        do throws(ImageCacheError) {
            let made = try await pipeline.made(request, .pixels)
            guard let image = CachedImage(made.image, made.source) else {
                throw ImageCacheError(.undecodable(.failed), message: "no pixels")
            }
            return image
        } catch {
            throw error.with(url: request.file.url)
        }
    }

    /// A decoded image of a URL in a size; `nil`: as it is stored.
    public func image(for url: String, _ sizing: ImageSizing? = nil) async throws(ImageCacheError) -> CachedImage {
        try await image(for: ImageRequest(url, sizing))
    }

    /// The bytes of an image file in a size and format: a look-up in memory after the first time.
    ///
    /// Kept in memory and on disk, beside its original, and made anew when the original has changed.
    ///
    /// - Parameters:
    ///   - request: what to get and what to make of it.
    ///   - encoder: Default: JPEG of quality 80; transparency is put upon white.
    /// - Throws: What ``file(for:)`` throws, and ``ImageCacheError/Code/undecodable(_:)``.
    public func thumbnail(
        for request: ImageRequest, as encoder: ImageEncoder = .jpeg()
    ) async throws(ImageCacheError) -> Thumbnail {
        try await thumbnail(for: request, as: ThumbnailEncoding.encoder(encoder))
    }

    /// The bytes of an image file in a size, and in a format that may depend on the original's.
    ///
    /// - Throws: What ``file(for:)`` throws, and ``ImageCacheError/Code/undecodable(_:)``.
    public func thumbnail(
        for request: ImageRequest, as encoding: ThumbnailEncoding
    ) async throws(ImageCacheError) -> Thumbnail {
        do throws(ImageCacheError) {
            let made = try await pipeline.made(request, encoding.output)
            guard let thumbnail = Thumbnail(made.image, made.source) else {
                throw ImageCacheError(.undecodable(.failed), message: "no bytes")
            }
            return thumbnail
        } catch {
            throw error.with(url: request.file.url)
        }
    }

    /// What `thumbnail(for:as:)` would answer, when it is in memory and may be used without asking
    /// the origin; else nil.
    ///
    /// Synchronous: a look-up under a lock, microseconds; fit for an event loop.
    public func readyThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) -> Thumbnail? {
        guard request.file.method == .get else { return nil }
        return pipeline.inMemory(ImageKey(request, encoding.output, by: fetcher.rules), request).flatMap {
            Thumbnail($0, .memory)
        }
    }

    /// The bytes of an image file of a URL in a size and format.
    public func thumbnail(
        for url: String, _ sizing: ImageSizing, as encoder: ImageEncoder = .jpeg()
    ) async throws(ImageCacheError) -> Thumbnail {
        try await thumbnail(for: ImageRequest(url, sizing), as: encoder)
    }

    /// What images cost so far.
    public var imageStatistics: ImageStatistics {
        var statistics = pipeline.statistics
        statistics.memory = pipeline.memory.statistics
        statistics.peakDecodingMemory = pipeline.peakDecodingMemory
        return statistics
    }

    /// Purges the memory cache: a warning down to the preferred usage, a critical one all of it. What the system says of
    /// memory pressure is followed by itself.
    public func respond(to pressure: MemoryPressure) { pipeline.memory.respond(to: pressure) }

    /// Lets go of every image in memory; what is on disk stays.
    public func removeImagesFromMemory() { pipeline.memory.removeAll() }
}

/// Which format a thumbnail gets.
public enum ThumbnailEncoding: Sendable, Hashable {
    case encoder(ImageEncoder)
    /// A JPEG of a JPEG, a PNG of a PNG; of others a PNG if there is transparency, else a JPEG: for clients that read nothing
    /// else.
    case likeOriginal(ImageEncoder.JPEGOptions)

    var output: ImageRecipe.Output {
        switch self {
        case .encoder(let encoder): .encoded(encoder)
        case .likeOriginal(let options): .likeOriginal(options)
        }
    }
}

/// What images cost, since the cache was opened.
public struct ImageStatistics: Sendable {
    /// Files that were decoded.
    public var decodes = 0
    /// Images that were brought to another size.
    public var resizes = 0
    /// Images that were encoded for a caller.
    public var encodes = 0
    /// Images that were made of originals with damaged data.
    public var damaged = 0
    /// The most bytes that running decodes were reckoned to take at a time.
    public internal(set) var peakDecodingMemory = 0
    /// The memory cache: what is in it, hits, misses, purges.
    public internal(set) var memory: MemoryCacheStatistics?
}
