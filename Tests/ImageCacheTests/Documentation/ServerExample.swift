// Sources/ImageCache/ImageCache.docc/UsingItInAServer.md shows this file from the next line on; DocumentationTests compares the two.
import ImageCache

/// Thumbnails for the request handlers of a service: one cache for the process.
struct Thumbnails {
    typealias Response = (status: Int, fields: [String: String], body: [UInt8])

    let cache: DownloadCache

    init(directory: String) throws {
        var configuration = DownloadCache.Configuration()
        configuration.store.capacity = 20 << 30  // 20 GiB of originals and thumbnails
        configuration.memory = try MemoryCacheLimits(capacity: 512 << 20, preferredUsage: 384 << 20)
        configuration.addressPolicy = .publicOnly()  // clients choose the URLs
        configuration.maxTransfersPerClient = 4
        cache = try DownloadCache(directory: directory, configuration: configuration)
    }

    /// 100 requests at once for one thumbnail cost one download, one decode, one encode; the next one a look-up.
    func respond(to url: String, ifNoneMatch: String?, client: String) async -> Response {
        var request = ImageRequest(url, .cover(256, 256, position: .attention))
        request.decoder.limits.pixels = 50_000_000
        request.file.client = client
        request.file.transfer.retry.maxRetries = 1  // a client waits
        do throws(ImageCacheError) {
            let thumbnail = try await cache.thumbnail(for: request, as: .webp(quality: 75))
            let tag = thumbnail.entityTag.text
            if ifNoneMatch == tag { return (304, ["ETag": tag], []) }
            return (200, ["ETag": tag, "Content-Type": "image/webp"], thumbnail.bytes)
        } catch {
            return (Self.status(of: error), [:], [])
        }
    }

    private static func status(of error: ImageCacheError) -> Int {
        switch error.code {
        case .invalidRequest: 400
        case .addressRefused: 403
        case .unreachable: 504
        case .cancelled: 503
        default: error.code.codecCode == nil ? 502 : 422
        }
    }
}
