import Glibc
import ImageCache

/// Downloads URLs into the current directory, several at a time, and continues what an earlier run left behind.
///
///     swift run example-downloader URL…
@main
enum Downloader {
    static func main() async {
        let urls = CommandLine.arguments.dropFirst()
        guard !urls.isEmpty else { return print("usage: example-downloader URL…") }
        do {
            let cache = try DownloadCache()
            let isComplete = await withTaskGroup(of: Bool.self) { group in
                for url in urls { group.addTask { await download(url, with: cache) } }
                var isComplete = true
                for await succeeded in group { isComplete = isComplete && succeeded }
                return isComplete
            }
            await cache.close()
            exit(isComplete ? 0 : 1)
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func download(_ url: String, with cache: DownloadCache) async -> Bool {
        do throws(ImageCacheError) {
            let file = try await cache.file(for: FileRequest(url))
            let name = url.split(separator: "/").last.map(String.init) ?? "download"
            try await file.export(to: name, overwrite: true)
            print("\(name): \(file.size) bytes, \(file.source), \(file.bytesTransferred) bytes received")
            return true
        } catch {
            print(error)  // Names the URL and the reason.
            return false
        }
    }
}
