// README.md shows this file from the next line on; DocumentationTests compares the two.
import ImageCache

func showPicture() async throws {
    let cache = try DownloadCache()
    let file = try await cache.file(for: "https://example.com/picture.jpg")
    print(file.path, file.size, file.source)  // a second call costs a look-up

    let thumbnail = try await cache.thumbnail(
        for: "https://example.com/picture.jpg", resizedTo: .cover(256, 256), as: .webp(quality: 75))
    print(thumbnail.width, thumbnail.height, thumbnail.bytes.count)
}
