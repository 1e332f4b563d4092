import Hummingbird
import ImageCache
import ServiceLifecycle

/// A thumbnail service on Hummingbird: `GET /thumbnail?url=…&size=256` answers with a WebP image.
///
///     swift run HummingbirdService [DIRECTORY]
@main
enum HummingbirdService {
    static func main() async throws {
        var configuration = DownloadCache.Configuration()
        configuration.addressPolicy = .publicOnly()  // clients choose the URLs
        let cache = try DownloadCache(directory: CommandLine.arguments.dropFirst().first, configuration: configuration)

        let router = Router()
        router.get("thumbnail") { request, _ in
            // The handler is cancelled when the client closes its connection. The download goes on only for others.
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                try await Thumbnails(cache: cache).response(to: request)
            }
        }
        var server = Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
        server.addServices(CacheService(cache: cache))
        try await server.runService()  // until SIGTERM or SIGINT
    }
}

/// Closes the cache on graceful shutdown. Services end in reverse order, and the server is the last one of an application.
struct CacheService: Service {
    let cache: DownloadCache

    func run() async throws {
        try? await gracefulShutdown()
        await cache.close()
    }
}
