// The README shows this file from the next line on; ReadmeTests holds the two together.
import ImageCache

/// The middle of a thumbnail service: one cache for the process, asked for every request.
struct Thumbnails {
    let cache: ImageCache

    init(directory: String) throws {
        var configuration = ImageCache.Configuration()
        configuration.store.capacity = 20 << 30  // 20 GiB of originals and thumbnails
        configuration.memory = try MemoryCacheLimits(capacity: 512 << 20, preferredUsage: 384 << 20)
        cache = try ImageCache(directory: directory, configuration: configuration)
    }

    /// 100 requests at once for one thumbnail cost one download, one decode, one encode; the next one a look-up.
    func thumbnail(of url: String, width: Int, height: Int) async throws -> Thumbnail {
        var request = ImageRequest(url, .cover(width, height, position: .attention))
        request.decoder.limits.pixels = 50_000_000
        return try await cache.thumbnail(for: request, as: .webp(quality: 75))
    }
}
