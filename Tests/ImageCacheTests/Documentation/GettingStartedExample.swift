// Sources/ImageCache/ImageCache.docc/GettingStarted.md shows this file from the next line on; DocumentationTests compares the two.
import ImageCache

/// Downloads a picture and shows its progress; the second call costs a look-up.
func downloadPicture() async throws {
    let cache = try DownloadCache()
    var request = FileRequest("https://example.com/picture.jpg")
    request.transfer.retry.maxRetries = 3

    let download = cache.download(request)  // equal requests share one transfer
    Task {
        for await progress in download.progress {
            print(progress.received, "of", progress.total ?? -1, "resumed at", progress.resumedFrom)
        }
    }
    do {
        let file = try await download.file
        print(file.path, file.size, file.source, file.response.fields[.contentType] ?? "")
        try await file.export(to: "picture.jpg", overwrite: true)
    } catch {
        guard error.code == .unreachable else { throw error }
        print("no network:", error)  // what arrived is kept; the next call continues there
    }
    cache.prefetch(["https://example.com/next.jpg", "https://example.com/after.jpg"])
}
