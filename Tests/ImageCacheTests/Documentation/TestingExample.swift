// Sources/ImageCacheTesting/ImageCacheTesting.docc/ImageCacheTesting.md shows this file from the next line on, word for word.
import ImageCache
import ImageCacheTesting

func fetchTwice(in directory: String) async throws -> Int {
    let logo = ScriptedRepresentation([0x89, 0x50, 0x4E, 0x47], etag: "\"7\"", [.cacheControl: "max-age=60"])
    let transport = ScriptedTransport { request in
        request.path == "/logo.png" ? logo.response(to: request) : ScriptedResponse(.notFound)
    }
    var configuration = DownloadCache.Configuration()
    configuration.transport = transport
    let cache = try DownloadCache(directory: directory, configuration: configuration)
    _ = try await cache.file(for: "https://example.com/logo.png")
    _ = try await cache.file(for: "https://example.com/logo.png")
    return transport.requests.count  // 1: the second one is a hit
}
