import ConcurrencyPrimitives
import Foundation
import Glibc
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// Images of originals that the store has no room for: made in memory, delivered, and not stored.
@Suite(
    .fewAtATime(limit: .seconds(180)),
    .enabled(if: Tmpfs.unavailableReason == nil, "\(Tmpfs.unavailableReason ?? "")"))
struct FullDiskImageTests {
    private let disk: Tmpfs

    init() throws { disk = try Tmpfs(size: 192 << 20) }

    /// Noise, which is larger than a block of the store.
    private static let large: [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        let image = try? DecodedImage(width: 800, height: 600) { memory in
            for index in 0..<(800 * 600) {
                let noise = UInt32.random(in: .min ... .max, using: &generator)
                for channel in 0..<3 { memory[index * 4 + channel] = UInt8(truncatingIfNeeded: noise >> (8 * channel)) }
                memory[index * 4 + 3] = 255
            }
        }
        return image.flatMap { try? ImageEncoder.png().encode($0) } ?? []
    }()

    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            let body =
                switch request.path {
                case let path where path.hasSuffix(".png"): Self.large
                case let path where path.hasSuffix(".svg"): Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)
                default: GradientPicture.bytes
                }
            let fields = [("Content-Length", "\(body.count)"), ("Cache-Control", "max-age=600")]
            return [.head(status: 200, fields: fields), .body(body)]
        }
    }

    private func fill() throws {
        let descriptor = open(disk.path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallFailure("open filler") }
        defer { close(descriptor) }
        let chunk = [UInt8](repeating: 1, count: 1 << 20)
        while write(descriptor, chunk, chunk.count) == chunk.count {}
        while write(descriptor, chunk, 4096) > 0 {}
    }

    @Test func `a service whose disk is full makes every image, also of originals that it does not have`() async throws
    {
        #expect(Self.large.count > 1 << 20)
        let origin = try origin()
        let files = try TestDirectory()
        let server = try await ServerProcess(
            origin: origin.url(""), "--cache-dir", disk.path + "/cache", "--svg", "pass", directory: files)
        let client = try Client(server.port)
        #expect(try #require(client.get("/image/w=50/before.jpg")).status == 200)
        try fill()
        let paths = ["w=50/a.jpg", "w=60/a.jpg", "w=50,f=webp/a.png", "info/b.jpg", "f=auto/c.svg", "w=80/before.jpg"]
        for round in 0..<2 {
            for path in paths {
                let response = try #require(client.get("/image/\(path)"))
                #expect(response.status == 200 && !response.body.isEmpty, "\(path), \(round): \(response.text)")
            }
        }
        let alone = try await ServerProcess(origin: origin.url(""))
        let expected = try #require(try Client(alone.port).get("/image/w=50/x.jpg"))
        #expect(try #require(client.get("/image/w=50/x.jpg")).body == expected.body)
        #expect(server.process.errorOutput.contains("answers cannot be stored"), "\(server.process.errorOutput)")
        try FileManager.default.removeItem(atPath: disk.path + "/filler")
        let path = "/image/w=55/later.jpg"
        #expect(try #require(client.get(path)).status == 200)
        #expect(
            try await eventually { try #require(client.get(path))["Cache-Status"]?.hasPrefix("imgcache; hit") == true })
    }

    /// The code of the error with which a request for an image ends.
    private func code(of request: ImageRequest, _ cache: DownloadCache) async -> ImageCacheError.Code? {
        do throws(ImageCacheError) {
            _ = try await cache.image(for: request)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `the library with a full disk makes images, thumbnails and previews, and still checks digests`()
        async throws
    {
        let origin = try origin()
        let cache = try DownloadCache(directory: disk.path + "/cache")
        _ = try await cache.image(for: origin.url("/before.jpg"))
        try fill()
        let image = try await cache.image(for: origin.url("/a.jpg"), resizedTo: .fit(50, 50))
        #expect(image.image.width == 50)
        let thumbnail = try await cache.thumbnail(for: origin.url("/a.png"), resizedTo: .fit(50, 50))
        #expect(thumbnail.width == 50)
        var frames = 0
        for try await _ in try await cache.animation(for: origin.url("/b.jpg")).frames { frames += 1 }
        #expect(frames == 1)
        var last: ImagePreview?
        for try await preview in cache.previews(for: ImageRequest(origin.url("/c.jpg"))) { last = preview }
        #expect(last?.isFinal == true)
        // A file itself must be in the store, and so must an image's original that the request wants there.
        await #expect(throws: ImageCacheError.self) {
            _ = try await cache.file(for: FileRequest(origin.url("/d.jpg")))
        }
        var stored = ImageRequest(origin.url("/e.jpg"), .fit(50, 50))
        stored.file.noStoreBehavior = .fail
        #expect(await code(of: stored, cache)?.storeReason == .full)
        var other = ImageRequest(origin.url("/f.jpg"), .fit(50, 50))
        other.file.sha256 = String(repeating: "0", count: 64)
        #expect(await code(of: other, cache) == .wrongBytes)
        other = ImageRequest(origin.url("/g.jpg"), .fit(50, 50))
        other.file.integrity.size = 1
        #expect(await code(of: other, cache) == .wrongBytes)
        await cache.close()
    }
}
