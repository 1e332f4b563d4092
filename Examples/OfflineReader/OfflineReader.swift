@preconcurrency import Glibc
import ImageCache

/// Prints a page from the cache, whatever its age, and says how old it is; with `--update` it asks the origin first and falls
/// back on what is stored.
///
///     swift run example-offline-reader [--update] URL
@main
enum OfflineReader {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let url = arguments.last, arguments.count == (arguments.first == "--update" ? 2 : 1) else {
            print("usage: example-offline-reader [--update] URL")
            exit(2)
        }
        do throws(ImageCacheError) {
            let cache = try DownloadCache()
            let file = try await read(url, updating: arguments.count == 2, from: cache)
            fputs("received \(file.response.responseTime), \(file.source)\n", stderr)
            try await file.copy(toDescriptor: STDOUT_FILENO)
            await cache.close()
        } catch {
            fputs("\(error)\n", stderr)
            exit(error.code == .notCached ? 7 : 1)
        }
    }

    private static func read(
        _ url: String, updating: Bool, from cache: DownloadCache
    ) async throws(ImageCacheError) -> CachedFile {
        var request = FileRequest(url)
        if updating {
            do throws(ImageCacheError) {
                return try await cache.file(for: request)
            } catch {
                guard error.code == .unreachable else { throw error }
            }
        }
        request.policy = .returnCacheDataDontLoad  // Never asks the network.
        return try await cache.file(for: request)
    }
}
