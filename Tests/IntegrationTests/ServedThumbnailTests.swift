import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// A thumbnail as a service serves it: from memory, with an entity tag and the remaining lifetime of its original.
@Suite(.fewAtATime) struct ServedThumbnailTests {
    private let directory: TestDirectory
    private let clock = Locked(Date())

    init() throws {
        directory = try TestDirectory()
    }

    private func cache() throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.now = { [clock] in clock.withLock { $0 } }
        configuration.watchesMemoryPressure = false
        configuration.rules = CacheRules(mode: .shared)
        return try DownloadCache(directory: directory.path("cache"), configuration: configuration)
    }

    private static func picture(_ encoder: ImageEncoder, alpha: UInt8 = 255) throws -> [UInt8] {
        try encoder.encode(
            try DecodedImage(width: 64, height: 48) { memory in
                for index in 0..<(64 * 48) {
                    memory[index * 4] = UInt8(truncatingIfNeeded: index)
                    memory[index * 4 + 3] = alpha
                }
            })
    }

    private func origin(_ bytes: [UInt8], cacheControl: String = "max-age=60") throws -> ScriptedOrigin {
        try ScriptedOrigin { [clock] request in
            let fields = [
                ("Date", httpDate(clock.withLock { $0 })), ("ETag", "\"1\""), ("Cache-Control", cacheControl),
                ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ]
            if request["If-None-Match"] == "\"1\"" { return [.head(status: 304, fields: fields)] }
            return [.head(status: 200, fields: fields + [("Content-Length", "\(bytes.count)")]), .body(bytes)]
        }
    }

    @Test func `a thumbnail is ready while it is in memory and its original is fresh`() async throws {
        let origin = try origin(try Self.picture(.jpeg()))
        let cache = try cache()
        let request = ImageRequest(origin.url("/a.jpg"), .fit(32, 32))
        let encoding = ThumbnailEncoding.encoder(.webp(quality: 80))
        #expect(cache.hotThumbnail(for: request, as: encoding) == nil)
        let made = try await cache.thumbnail(for: request, as: encoding)
        let ready = try #require(cache.hotThumbnail(for: request, as: encoding))
        #expect(ready.bytes == made.bytes && ready.entityTag == made.entityTag && ready.source == .memory)
        #expect(cache.hotThumbnail(for: request, as: .encoder(.webp(quality: 70))) == nil)
        var anew = request
        anew.file.policy = .reloadRevalidatingCacheData
        #expect(cache.hotThumbnail(for: anew, as: encoding) == nil)
        clock.withLock { $0 += 61 }
        #expect(cache.hotThumbnail(for: request, as: encoding) == nil)
        // The origin confirms: it lives on, with a new life.
        let confirmed = try await cache.thumbnail(for: request, as: encoding)
        #expect(confirmed.entityTag == made.entityTag)
        #expect(confirmed.freshness.cacheControl(at: clock.withLock { $0 }) == "max-age=60")
        #expect(cache.hotThumbnail(for: request, as: encoding) != nil)
        #expect(origin.requests.count == 2)
    }

    @Test func `a thumbnail is never ready if its original must be revalidated before each use`() async throws {
        // Its lifetime by Last-Modified would be a day.
        let origin = try origin(try Self.picture(.jpeg()), cacheControl: "no-cache")
        let cache = try cache()
        let request = ImageRequest(origin.url("/a.jpg"), .fit(32, 32))
        for asked in 1...3 {
            let made = try await cache.thumbnail(for: request)
            #expect(origin.requests.count == asked)
            #expect(made.freshness.cacheControl(at: clock.withLock { $0 }) == "no-cache")
            #expect(cache.hotThumbnail(for: request, as: .encoder(.jpeg())) == nil)
        }
        #expect(cache.imageStatistics.decodes == 1)
    }

    @Test func `a thumbnail has its original's remaining lifetime, from memory and from disk alike`() async throws {
        let origin = try origin(try Self.picture(.jpeg()), cacheControl: "public, max-age=30, s-maxage=60")
        let cache = try cache()
        let request = ImageRequest(origin.url("/a.jpg"), .fit(32, 32))
        let made = try await cache.thumbnail(for: request)
        clock.withLock { $0 += 20 }
        #expect(made.freshness.cacheControl(at: clock.withLock { $0 }) == "public, max-age=10, s-maxage=40")
        #expect(made.lastModified == "Sun, 06 Nov 1994 08:49:37 GMT")
        let other = try DownloadCache(
            directory: directory.path("cache"),
            configuration: { [clock] in
                var configuration = DownloadCache.Configuration()
                configuration.now = { clock.withLock { $0 } }
                configuration.rules = CacheRules(mode: .shared)
                return configuration
            }())
        let stored = try await other.thumbnail(for: request)
        #expect(stored.source == .thumbnail(.disk))
        #expect(stored.entityTag == made.entityTag && !stored.entityTag.isWeak)
        #expect(stored.freshness.cacheControl(at: clock.withLock { $0 }) == "public, max-age=10, s-maxage=40")
        #expect(stored.lastModified == made.lastModified)
    }

    @Test(
        arguments: [
            (ImageEncoder.jpeg(), 255, ImageFormat.jpeg), (.png(), 255, .png), (.png(), 128, .png),
            (.webp(), 255, .jpeg), (.webp(isLossless: true), 128, .png),
        ] as [(ImageEncoder, UInt8, ImageFormat)])
    func `a thumbnail has its original's format for clients that accept no newer one`(
        original: ImageEncoder, alpha: UInt8, expected: ImageFormat
    ) async throws {
        let origin = try origin(try Self.picture(original, alpha: alpha))
        let cache = try cache()
        let request = ImageRequest(origin.url("/a"), .fit(32, 32))
        let made = try await cache.thumbnail(for: request, as: .likeOriginal(.init(quality: 70)))
        #expect(made.format == expected)
        #expect(ImageFormat.detect(made.bytes) == expected)
        try await cache.clear(.memory)
        let tag = made.entityTag
        _ = consume made
        let stored = try await cache.thumbnail(for: request, as: .likeOriginal(.init(quality: 70)))
        #expect(stored.source == .thumbnail(.disk))
        #expect(stored.format == expected && stored.entityTag == tag)
    }
}
