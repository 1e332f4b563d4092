import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// Images and thumbnails through the whole library: sharing, keeping, and deriving again.
@Suite(.fewAtATime) struct ImagePipelineTests {
    private let directory: TestDirectory
    private let clock = Locked(Date())
    private let picture = Locked(Picture(seed: 1))
    private let gate = Gate()

    /// The image that the origin serves under every path.
    private struct Picture: Sendable {
        let etag: String
        let bytes: [UInt8]

        init(seed: Int, width: Int = 640, height: Int = 480) {
            etag = "\"p\(seed)\""
            let image = try? DecodedImage(width: width, height: height) { memory in
                for index in 0..<(width * height) {
                    let (x, y) = (index % width, index / width)
                    memory[index * 4] = UInt8(truncatingIfNeeded: x * 255 / width)
                    memory[index * 4 + 1] = UInt8(truncatingIfNeeded: y * 255 / height)
                    memory[index * 4 + 2] = UInt8(truncatingIfNeeded: seed * 60)
                    memory[index * 4 + 3] = 255
                }
            }
            bytes = image.flatMap { try? ImageEncoder.jpeg(quality: 90).encode($0) } ?? []
        }

        /// A photo with a profile, and an Exif block with an orientation.
        init(orientation: Int) throws {
            let path = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../TestAssets/jpeg/Pillow__icc_profile_big.jpg").standardized.path
            var decoder = ImageDecoder()
            decoder.color = .keepProfile
            var image = try decoder.decode(ImageSource(path: path), to: .cover(160, 120))
            image.exif =
                Array("II*\0".utf8)
                + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, UInt8(orientation), 0, 0, 0, 0, 0, 0, 0]
            etag = "\"o\(orientation)\""
            bytes = try ImageEncoder.jpeg(quality: 90).encode(image)
        }
    }

    init() throws {
        directory = try TestDirectory()
    }

    private func cache(_ change: (inout DownloadCache.Configuration) -> Void = { _ in }) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.now = { [clock] in clock.withLock { $0 } }
        configuration.watchesMemoryPressure = false
        change(&configuration)
        return try DownloadCache(directory: directory.path("cache"), configuration: configuration)
    }

    /// - Parameter waits: Whether the answers wait for the gate.
    private func origin(cacheControl: String = "max-age=60", waits: Bool = false) throws -> ScriptedOrigin {
        try ScriptedOrigin { [clock, picture, gate] request in
            let picture = picture.withLock { $0 }
            let fields = [
                ("Date", httpDate(clock.withLock { $0 })), ("ETag", picture.etag), ("Cache-Control", cacheControl),
            ]
            let wait: [OriginStep] = waits ? [.wait(for: gate)] : []
            if request["If-None-Match"] == picture.etag { return wait + [.head(status: 304, fields: fields)] }
            let length = [("Content-Length", "\(picture.bytes.count)"), ("Content-Type", "image/jpeg")]
            return wait + [.head(status: 200, fields: fields + length), .body(picture.bytes)]
        }
    }

    @Test func `a thumbnail comes from the network, then from memory, then from disk`() async throws {
        let origin = try origin()
        let cache = try cache()
        let first = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(first.source == .original(.network))
        #expect((first.width, first.height) == (64, 48))
        #expect(first.format == .jpeg)
        let second = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(second.source == .memory)
        #expect(second.bytes == first.bytes)
        try await cache.clear(.memory)
        _ = consume first
        _ = consume second
        let third = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(third.source == .thumbnail(.disk))
        #expect((third.width, third.height) == (64, 48))
        #expect(cache.imageStatistics.decodes == 1)
        #expect(cache.imageStatistics.encodes == 1)
        #expect(origin.requests.count == 1)
    }

    @Test func `100 callers of one thumbnail cost one download, one decode, one resize and one encode`() async throws {
        let origin = try origin(waits: true)
        let cache = try cache()
        let url = origin.url("/a.jpg")
        try await withThrowingTaskGroup(of: Thumbnail.self) { group in
            for _ in 0..<100 { group.addTask { try await cache.thumbnail(for: url, resizedTo: .fit(64, 64)) } }
            #expect(await origin.waits { $0.count == 1 })
            gate.open()
            for try await thumbnail in group { #expect(thumbnail.width == 64) }
        }
        let statistics = cache.imageStatistics
        #expect((statistics.decodes, statistics.resizes, statistics.encodes) == (1, 1, 1))
        #expect(origin.requests.count == 1)
    }

    @Test func `ten sizes of one image at once cost one download, and a decode for each scale that the decoder has`()
        async throws
    {
        let origin = try origin(waits: true)
        let cache = try cache()
        let url = origin.url("/a.jpg")
        try await withThrowingTaskGroup(of: Thumbnail.self) { group in
            for size in 1...10 {
                group.addTask { try await cache.thumbnail(for: url, resizedTo: .fit(size * 25, size * 25)) }
            }
            #expect(await eventually { cache.imageStatistics.waiting == 10 })
            gate.open()
            var widths: Set<Int> = []
            for try await thumbnail in group { widths.insert(thumbnail.width) }
            #expect(widths == Set((1...10).map { $0 * 25 }))
        }
        // 1/8, 2/8, 4/8 and the whole.
        #expect(cache.imageStatistics.decodes == 4)
        #expect(cache.imageStatistics.waiting == 0)
        #expect(cache.imageStatistics.encodes == 10)
        #expect(origin.requests.count == 1)
    }

    @Test func `an original that is rendered in ever more sizes is decoded twice, and changes no image`() async throws {
        let origin = try origin()
        let cache = try cache()
        let source = ImageSource(picture.withLock { $0.bytes })
        let url = origin.url("/a.jpg")
        for size in 100...106 {
            let thumbnail = try await cache.thumbnail(for: url, resizedTo: .fit(size, size))
            #expect(thumbnail.source == .original(size == 100 ? .network : .disk))
            let alone = try ImageDecoder().decode(source, to: .fit(size, size))
            #expect(try ImageEncoder.jpeg().encode(alone) == thumbnail.bytes)
        }
        #expect(cache.imageStatistics.decodes == 2)
        #expect(cache.imageStatistics.resizes == 7)
        // Another body is stored under the URL then.
        _ = try await cache.remove(FileRequest(url))
        _ = try await cache.thumbnail(for: url, resizedTo: .fit(107, 107))
        #expect(cache.imageStatistics.decodes == 3)
    }

    @Test func `a cancelled caller does not affect the others, and the last one stops the download`() async throws {
        let origin = try origin(waits: true)
        let cache = try cache()
        let url = origin.url("/a.jpg")
        let callers = (0..<3).map { _ in Task { try await cache.thumbnail(for: url, resizedTo: .fit(64, 64)) } }
        #expect(await origin.waits { $0.count == 1 })
        callers[0].cancel()
        let first = await callers[0].result
        #expect(throws: ImageCacheError.self) { try first.get() }
        #expect(origin.requests.first?.ending == .underway)
        callers[1].cancel()
        callers[2].cancel()
        for caller in callers {
            let result = await caller.result
            #expect(throws: ImageCacheError.self) { try result.get() }
        }
        #expect(await origin.waits { $0.first?.ending == .peerGone })
        #expect(cache.imageStatistics.decodes == 0)
    }

    @Test func `a revalidated original keeps its thumbnail`() async throws {
        let origin = try origin()
        let cache = try cache()
        _ = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        clock.withLock { $0 += 100 }
        let again = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(again.source == .thumbnail(.revalidated))
        #expect(origin.requests.count == 2)
        #expect(cache.imageStatistics.decodes == 1)
        let warm = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(warm.source == .memory)
    }

    @Test func `a changed original replaces its thumbnail and removes those of other sizes from disk`() async throws {
        let origin = try origin()
        let cache = try cache()
        let old = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        _ = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(32, 32))
        picture.withLock { $0 = Picture(seed: 2) }
        clock.withLock { $0 += 100 }
        let new = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(new.source == .original(.network))
        #expect(new.bytes != old.bytes)
        #expect(try await cache.entries().filter { $0.recipe != nil }.count == 1)
    }

    @Test func `storing only the original keeps no thumbnail on disk, and makes it again without the network`()
        async throws
    {
        let origin = try origin()
        let cache = try cache()
        var request = ImageRequest(origin.url("/a.jpg"), .fit(64, 64))
        request.storing = .originalOnly
        _ = try await cache.thumbnail(for: request)
        #expect(try await cache.entries().map(\.recipe) == [nil])
        try await cache.clear(.memory)
        let again = try await cache.thumbnail(for: request)
        #expect(again.source == .original(.disk) || again.source == .memory)
        #expect(origin.requests.count == 1)
    }

    @Test func `storing only the thumbnail removes the original and serves the thumbnail while it is fresh`()
        async throws
    {
        let origin = try origin()
        let cache = try cache()
        var request = ImageRequest(origin.url("/a.jpg"), .fit(64, 64))
        request.storing = .processedOnly
        _ = try await cache.thumbnail(for: request)
        let entries = try await cache.entries()
        #expect(entries.count == 1 && entries.first?.recipe != nil)
        let other = try self.cache()
        #expect(try await other.thumbnail(for: request).source == .thumbnail(.disk))
        #expect(origin.requests.count == 1)
    }

    @Test func `a stale thumbnail without its original is revalidated without transferring the original`() async throws
    {
        let origin = try origin()
        let cache = try cache()
        var request = ImageRequest(origin.url("/a.jpg"), .fit(64, 64))
        request.storing = .processedOnly
        let bytes = try await cache.thumbnail(for: request).bytes
        clock.withLock { $0 += 100 }
        let other = try self.cache()
        let again = try await other.thumbnail(for: request)
        #expect(again.source == .thumbnail(.revalidated) && again.bytes == bytes)
        #expect(origin.requests.count == 2)
        #expect(origin.requests.last?["If-None-Match"] == picture.withLock { $0.etag })
        #expect(origin.requests.last?.status == 304 && origin.requests.last?.bodyBytesSent == 0)
        #expect(other.imageStatistics.decodes == 0)
        // Fresh again, in memory and for the next process.
        #expect(try await other.thumbnail(for: request).source == .memory)
        #expect(try await self.cache().thumbnail(for: request).source == .thumbnail(.disk))
        #expect(origin.requests.count == 2)
        #expect(try await cache.entries().map { $0.recipe != nil } == [true])
    }

    @Test func `a stale thumbnail without its original is made again from one transfer of a changed original`()
        async throws
    {
        let origin = try origin()
        let cache = try cache()
        var request = ImageRequest(origin.url("/a.jpg"), .fit(64, 64))
        request.storing = .processedOnly
        let old = try await cache.thumbnail(for: request)
        picture.withLock { $0 = Picture(seed: 2) }
        clock.withLock { $0 += 100 }
        let new = try await cache.thumbnail(for: request)
        #expect(new.source == .original(.network) && new.bytes != old.bytes)
        #expect(origin.requests.map(\.status) == [200, 200])
        #expect(origin.requests.last?["If-None-Match"] != nil)
        #expect(try await cache.entries().map { $0.recipe != nil } == [true])
    }

    @Test func `all thumbnails without their original are revalidated by one request, and used stale offline`()
        async throws
    {
        let origin = try origin()
        let cache = try cache()
        var requests = [64, 32, 16].map { ImageRequest(origin.url("/a.jpg"), .fit($0, $0)) }
        // The last one lets the original go.
        requests[2].storing = .processedOnly
        for request in requests { _ = try await cache.thumbnail(for: request) }
        #expect(try await cache.entries().map { $0.recipe != nil } == [true, true, true])
        clock.withLock { $0 += 100 }
        for request in requests {
            var offline = request
            offline.file.policy = .returnCacheDataDontLoad
            #expect(try await self.cache().thumbnail(for: offline).source == .thumbnail(.stale))
        }
        #expect(origin.requests.count == 1)
        for (request, original) in zip(requests, [CachedFile.Source.revalidated, .disk, .disk]) {
            #expect(try await self.cache().thumbnail(for: request).source == .thumbnail(original))
        }
        #expect(origin.requests.map(\.status) == [200, 304])
    }

    @Test func `a kill between storing original and thumbnail leaves the original for a later thumbnail`()
        async throws
    {
        let origin = try origin(cacheControl: "max-age=36000")
        let url = origin.url("/a.jpg")
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [url = url as String, path = directory.path("cache") as String] in
            let cache = try DownloadCache(directory: path)
            var request = ImageRequest(url, .fit(64, 64))
            request.processors = [
                ImageProcessor(identity: "step") { image in
                    raise(SIGKILL)
                    return image
                }
            ]
            _ = try await cache.thumbnail(for: request)
        }
        // The other process used the real time, which may have advanced since this test's clock was set.
        clock.withLock { $0 = Date() }
        let cache = try cache()
        #expect(try await cache.entries().map(\.recipe) == [nil])
        var request = ImageRequest(url, .fit(64, 64))
        request.processors = [ImageProcessor(identity: "step") { image in image }]
        #expect(try await cache.thumbnail(for: request).source == .original(.disk))
        #expect(try await self.cache().thumbnail(for: request).source == .thumbnail(.disk))
        #expect(origin.requests.count == 1)
    }

    @Test func `pixels are cached by their size in memory and without loss on disk`() async throws {
        let origin = try origin()
        let cache = try cache()
        let first = try await cache.image(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(first.image.cost == 64 * 48 * 4)
        #expect(cache.imageStatistics.memory?.bytes == 64 * 48 * 4)
        let pixels = first.image.withUnsafeBytes { Array($0) }
        let other = try self.cache()
        let second = try await other.image(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(second.source == .thumbnail(.disk))
        #expect(second.image.withUnsafeBytes { Array($0) } == pixels)
    }

    @Test(arguments: 1...8)
    func `an image is the same from its original, from memory and from disk, whatever the decoder keeps`(
        orientation: Int
    ) async throws {
        let picture = try Picture(orientation: orientation)
        self.picture.withLock { $0 = picture }
        let origin = try origin()
        let cache = try cache()
        let other = try self.cache()
        for options in 0..<8 {
            var request = ImageRequest(origin.url("/a.jpg"), .fit(64, 64))
            request.decoder.appliesOrientation = options & 1 != 0
            request.decoder.keepsMetadata = options & 2 != 0
            request.decoder.color = options & 4 != 0 ? .keepProfile : .convertToSRGB
            let rendered = try await cache.image(for: request)
            let kept = try await cache.image(for: request)
            let stored = try await other.image(for: request)
            #expect(kept.source == .memory && stored.source == .thumbnail(.disk))
            #expect((rendered.image.exif != nil) == request.decoder.keepsMetadata)
            #expect((rendered.image.profile != nil) == (request.decoder.color == .keepProfile))
            #expect((rendered.image.width > rendered.image.height) == (options & 1 == 0 || orientation < 5))
            let pixels = rendered.image.withUnsafeBytes { Array($0) }
            for image in [kept.image, stored.image] {
                #expect((image.width, image.height) == (rendered.image.width, rendered.image.height))
                #expect(image.exif == rendered.image.exif && image.profile == rendered.image.profile)
                #expect(image.withUnsafeBytes { Array($0) } == pixels)
            }
        }
    }

    @Test func `an image that a caller holds is found again after a purge`() async throws {
        let origin = try origin()
        let cache = try cache()
        let held = try await cache.image(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        cache.respond(to: .critical)
        let found = try await cache.image(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        #expect(found.source == .memory)
        #expect(held.image.cost == found.image.cost)
    }

    @Test func `processors are part of the cache key`() async throws {
        let origin = try origin()
        let cache = try cache()
        var request = ImageRequest(origin.url("/a.jpg"), .fit(64, 64))
        let calls = Locked(0)
        request.processors = [
            ImageProcessor(identity: "count") { image in
                calls.withLock { $0 += 1 }
                return image
            }, .resize(.fit(32, 32)),
        ]
        #expect(try await cache.image(for: request).image.width == 32)
        #expect(try await cache.image(for: request).image.width == 32)
        #expect(try await cache.image(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64)).image.width == 64)
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `each processor changes the image, and each has a place of its own in the cache`() async throws {
        let origin = try origin()
        let cache = try cache()
        let url = origin.url("/a.jpg")
        let plain = try await cache.image(for: url, resizedTo: .fit(64, 64)).image.withUnsafeBytes { Array($0) }
        var seen: Set<[UInt8]> = [plain]
        for processor: ImageProcessor in [
            .crop(x: 1, y: 2, width: 10, height: 20), .roundedCorners(radius: 8), .circle, .grayscale, .blur(sigma: 3),
            .resize(.fit(10, 10)),
        ] {
            var request = ImageRequest(url, .fit(64, 64))
            request.processors = [processor]
            let made = try await cache.image(for: request)
            #expect(made.source == .original(.disk), "\(processor.identity)")
            #expect(seen.insert(made.image.withUnsafeBytes { Array($0) }).inserted, "\(processor.identity)")
            #expect(try await cache.image(for: request).source == .memory)
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `previews of a progressive JPEG arrive before the final image`() async throws {
        let width = 1600
        let height = 1200
        var generator = SeededGenerator(for: "previews")
        let noise = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let image = try DecodedImage(width: width, height: height) { memory in
            for index in 0..<(width * height * 4) { memory[index] = index % 4 == 3 ? 255 : noise[(index * 7) % 4096] }
        }
        var options = ImageEncoder.JPEGOptions(quality: 90)
        options.isProgressive = true
        let bytes = try ImageEncoder(.jpeg(options)).encode(image)
        try #require(bytes.count > 1 << 20)
        let half = bytes.count / 2
        let origin = try ScriptedOrigin { [gate] _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=60")]),
                .body(Array(bytes[..<half])), .wait(for: gate), .body(Array(bytes[half...])),
            ]
        }
        let cache = try cache()
        var finals: [Bool] = []
        for try await preview in cache.previews(
            for: ImageRequest(origin.url("/p.jpg"), .fit(400, 400)), every: .zero)
        {
            #expect((preview.image.width, preview.image.height) == (400, 300))
            finals.append(preview.isFinal)
            gate.open()
        }
        #expect(finals.count >= 2, "\(finals)")
        #expect(finals.last == true && finals.dropLast().allSatisfy { !$0 })
        #expect(origin.requests.count == 1)
    }

    @Test func `a prefetch fills the cache, waits while it is paused, and stops when it is cancelled`() async throws {
        let origin = try origin()
        let cache = try cache()
        let requests = (0..<6).map { ImageRequest(origin.url("/\($0).jpg"), .fit(64, 64)) }
        let prefetch = cache.prefetchImages(requests, as: .jpeg(), width: 2)
        await prefetch.finish()
        #expect(prefetch.counts.requested == 6)
        #expect(prefetch.counts.loaded == 6)
        #expect(prefetch.counts.failed == 0)
        #expect(try await cache.thumbnail(for: origin.url("/5.jpg"), resizedTo: .fit(64, 64)).source == .memory)

        let waiting = try self.origin(waits: true)
        let paused = cache.prefetch((0..<4).map { FileRequest(waiting.url("/\($0)")) }, width: 1)
        #expect(await waiting.waits { $0.count == 1 })
        paused.pause()
        gate.open()
        while paused.counts.loaded < 1 { try await Task.sleep(for: .milliseconds(2)) }
        #expect(waiting.requests.count == 1)
        paused.resume()
        await paused.finish()
        #expect(paused.counts.loaded == 4)

        let cancelled = cache.prefetch((0..<4).map { FileRequest(waiting.url("/c\($0)")) }, width: 1)
        cancelled.pause()
        cancelled.cancel()
        await cancelled.finish()
        #expect(cancelled.counts.loaded < 4)
    }

    @Test func `removing a URL removes its derived images from memory and disk, and nothing else`() async throws {
        let origin = try origin()
        let cache = try cache()
        for path in ["/1.jpg", "/10.jpg"] {
            _ = try await cache.thumbnail(for: origin.url(path), resizedTo: .fit(64, 64))
        }
        try await cache.remove(FileRequest(origin.url("/1.jpg")))
        #expect(try await cache.entries().map(\.url) == [origin.url("/10.jpg"), origin.url("/10.jpg")])
        #expect(try await cache.thumbnail(for: origin.url("/10.jpg"), resizedTo: .fit(64, 64)).source == .memory)
        #expect(
            try await cache.thumbnail(for: origin.url("/1.jpg"), resizedTo: .fit(64, 64)).source == .original(.network))
    }

    @Test func `a thumbnail of a no-store original is delivered, but kept neither in memory nor on disk`() async throws
    {
        let origin = try origin(cacheControl: "no-store")
        let cache = try cache()
        for _ in 0..<2 {
            let thumbnail = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
            #expect(thumbnail.source == .original(.network))
        }
        #expect(cache.imageStatistics.memory?.entries == 0)
        #expect(try await cache.entries().isEmpty)
    }

    @Test func `one user's thumbnails are not another's`() async throws {
        let origin = try origin()
        let cache = try cache()
        var request = ImageRequest(origin.url("/a.jpg"), .fit(64, 64))
        request.file.owner = "ann"
        _ = try await cache.thumbnail(for: request)
        request.file.owner = "bob"
        #expect(try await cache.thumbnail(for: request).source == .original(.network))
        #expect(origin.requests.count == 2)
        try await cache.remove(.owner("ann"))
        #expect(try await cache.entries().count == 2)
    }

    @Test func `an original that is not an image is an error with the reason`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 5000))
        let cache = try cache()
        let error = await #expect(throws: ImageCacheError.self) {
            try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        }
        #expect(error?.code == .undecodable(.unsupportedFormat))
        #expect(error?.url == origin.url("/a.jpg"))
    }

    @Test func `decodes of large images take their turns within the memory that they may take`() async throws {
        picture.withLock { $0 = Picture(seed: 3, width: 2000, height: 1500) }
        let origin = try origin()
        let cache = try cache {
            $0.maxDecodes = 4
            $0.decodingMemory = 60 << 20
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask { try await cache.image(for: origin.url("/\(number).jpg")).image.width }
            }
            for try await width in group { #expect(width == 2000) }
        }
        // 12 MB of pixels and the stream's share each: two at a time fit.
        let peak = cache.imageStatistics.peakDecodingMemory
        #expect(peak > 0 && peak <= 60 << 20, "\(peak)")
    }
}
