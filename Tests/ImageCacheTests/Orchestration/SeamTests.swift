import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// The codecs and transports of the documentation, in a cache.
@Suite struct SeamTests {
    /// A pixmap whose red is the column and whose green is the row.
    private static func pixmap(_ width: Int, _ height: Int) -> [UInt8] {
        Array("P6\n\(width) \(height)\n255\n".utf8)
            + (0..<width * height).flatMap { [UInt8($0 % width), UInt8($0 / width), 200] }
    }

    private func bench(
        _ bytes: [UInt8] = pixmap(40, 30), in directory: TestDirectory? = nil,
        decoders: [any ImageDecoding] = [PixmapDecoder()]
    ) throws -> Bench {
        let representation = ScriptedRepresentation(bytes)
        return try Bench(in: directory) {
            $0.decoders = decoders
        } script: {
            representation.response(to: $0)
        }
    }

    // MARK: Decoders

    @Test(.timeLimit)
    func `a registered decoder's image is decoded, resized, shared and kept like any other`() async throws {
        let bench = try bench()
        let whole = try await bench.cache.image(for: Bench.url)
        #expect((whole.image.width, whole.image.height) == (40, 30))
        #expect(whole.image[7, 3] == SIMD4(7, 3, 200, 255) && whole.image.isOpaque)
        let small = try await bench.cache.image(for: Bench.url, resizedTo: .fit(20, 20))
        #expect((small.image.width, small.image.height) == (20, 15))
        #expect(small.image[19, 0].x > 30)
        #expect(try await bench.cache.image(for: Bench.url, resizedTo: .fit(20, 20)).source == .memory)
        #expect(bench.transport.requests.count == 1)
        #expect(bench.cache.imageStatistics.decodes == 2)
    }

    @Test(.timeLimit)
    func `a stored image of a registered decoder is found again, under the decoder's identity only`() async throws {
        struct Newer: ImageDecoding {
            let older = PixmapDecoder()
            var format: ImageFormat { older.format }
            let identity = "pixmap-2"
            func canDecode(_ start: [UInt8]) -> Bool { older.canDecode(start) }
            func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
                try older.header(of: source)
            }
            func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
                try older.decode(source, within: budget)
            }
        }
        let directory = try TestDirectory()
        let first = try bench(in: directory)
        let rendered = try await first.cache.thumbnail(for: Bench.url, resizedTo: .fit(20, 20))
        await first.cache.close()
        let again = try bench(in: directory)
        let found = try await again.cache.thumbnail(for: Bench.url, resizedTo: .fit(20, 20))
        #expect(found.source == .thumbnail(.disk) && found.bytes == rendered.bytes)
        #expect(try await again.cache.entries().contains { $0.recipe?.contains("decoded by pixmap-1") == true })
        await again.cache.close()
        let newer = try bench(in: directory, decoders: [Newer()])
        #expect(try await newer.cache.thumbnail(for: Bench.url, resizedTo: .fit(20, 20)).source == .original(.disk))
    }

    @Test func `a file without its registered decoder is not an image`() async throws {
        let bench = try bench(decoders: [])
        let error = await #expect(throws: ImageCacheError.self) { try await bench.cache.image(for: Bench.url) }
        #expect(error?.code == .undecodable(.unsupportedFormat))
    }

    /// The first bytes of files, and true if a registered decoder comes before the package's.
    private static let starts: [(ImageFormat, [UInt8], Bool)] = [
        (.jpegXL, [0xFF, 0x0A, 0, 0], true), (.tiff, [0x49, 0x49, 42, 0, 8, 0, 0, 0], true),
        (.heif, fileType("heic"), true),
        (
            .bmp,
            [0x42, 0x4D, 0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 24, 0],
            true
        ),
        (.ico, [0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0, 32, 0, 1, 0, 0, 0, 22, 0, 0, 0], true),
        (.jpeg, [0xFF, 0xD8, 0xFF], false), (.png, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], false),
        (.webp, Array("RIFF\0\0\0\0WEBP".utf8), false), (.gif, Array("GIF89a".utf8), false),
        (.avif, fileType("avif"), false),
    ]

    private static func fileType(_ brand: String) -> [UInt8] {
        [0, 0, 0, 16] + Array("ftyp\(brand)".utf8) + [0, 0, 0, 0]
    }

    @Test(arguments: starts)
    func `a registered decoder comes before the package's, except for JPEG, PNG, WebP, GIF and AVIF`(
        format: ImageFormat, file: [UInt8], isReplaceable: Bool
    ) async throws {
        struct Own: ImageDecoding {
            let format: ImageFormat
            let identity = "own-1"
            func canDecode(_ start: [UInt8]) -> Bool { true }
            func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
                DecodingHeader(width: 3, height: 2)
            }
            func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
                try DecodedImage(width: 3, height: 2) { pixels in
                    for index in pixels.indices { pixels[index] = 255 }
                }
            }
        }
        #expect(ImageFormat.detect(file) == format)
        let own = try bench(file, decoders: [Own(format: format)])
        if isReplaceable {
            let image = try await own.cache.image(for: Bench.url).image
            #expect((image.width, image.height) == (3, 2))
        } else {
            await #expect(throws: ImageCacheError.self) { try await own.cache.image(for: Bench.url) }
        }
        // Without it, the package reads the file, which has no pixels.
        let other = try bench(file)
        await #expect(throws: ImageCacheError.self) { try await other.cache.image(for: Bench.url) }
    }

    @Test func `the limits hold for a registered decoder, before its pixels are decoded`() async throws {
        let huge = Array("P6\n60000 60000\n255\n".utf8) + [0]
        let bench = try bench(huge)
        let error = await #expect(throws: ImageCacheError.self) { try await bench.cache.image(for: Bench.url) }
        #expect(error?.code == .undecodable(.limitExceeded))
        #expect(bench.cache.imageStatistics.decodes == 0)
        var request = ImageRequest(Bench.url)
        request.decoder.limits.bytes = 10
        let limited = request
        let small = await #expect(throws: ImageCacheError.self) { try await bench.cache.image(for: limited) }
        #expect(small?.code == .undecodable(.limitExceeded))
    }

    @Test(.timeLimit)
    func `a registered decoder that looks at its budget ends when the time is over`() async throws {
        struct Endless: ImageDecoding {
            let format = ImageFormat.pixmap
            let identity = "endless"
            func canDecode(_ start: [UInt8]) -> Bool { true }
            func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
                DecodingHeader(width: 1, height: 1)
            }
            func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
                while true { try budget.check() }
            }
        }
        let bench = try bench([1, 2, 3], decoders: [Endless()])
        var request = ImageRequest(Bench.url)
        request.decoder.limits.seconds = 0.01
        let limited = request
        let error = await #expect(throws: ImageCacheError.self) { try await bench.cache.image(for: limited) }
        #expect(error?.code == .undecodable(.limitExceeded))
        let cancelled = bench.cache.imageTask(for: Bench.url, resizedTo: .fit(9, 9))
        cancelled.cancel()
        await #expect(throws: ImageCacheError.self) { try await cancelled.image }
    }

    @Test(.timeLimit)
    func `the header of an image and the image have one deadline`() async throws {
        /// Takes CPU time for its header, and none for its pixels.
        struct Slow: ImageDecoding {
            let format = ImageFormat.pixmap
            let identity = "slow"
            func canDecode(_ start: [UInt8]) -> Bool { true }
            func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
                let end = seconds() + 0.06
                while seconds() < end {}
                return DecodingHeader(width: 1, height: 1)
            }
            func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
                try DecodedImage(width: 1, height: 1) { $0.initializeMemory(as: UInt8.self, repeating: 9) }
            }
            private func seconds() -> Double {
                var now = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
                return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
            }
        }
        // The header is read for the size, and again with the pixels.
        for (seconds, isEnough) in [(0.1, false), (10, true)] {
            let bench = try bench([1, 2, 3], decoders: [Slow()])
            var request = ImageRequest(Bench.url)
            request.decoder.limits.seconds = seconds
            let limited = request
            do {
                _ = try await bench.cache.image(for: limited)
                #expect(isEnough)
            } catch {
                #expect(!isEnough && error.code == .undecodable(.limitExceeded))
            }
        }
    }

    @Test func `a registered decoder's pixels must be those of its header`() async throws {
        struct Liar: ImageDecoding {
            let format = ImageFormat.pixmap
            let identity = "liar"
            func canDecode(_ start: [UInt8]) -> Bool { true }
            func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
                DecodingHeader(width: 2, height: 2)
            }
            func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
                try DecodedImage(width: 3, height: 3) { _ in }
            }
        }
        let bench = try bench([1, 2, 3], decoders: [Liar()])
        let error = await #expect(throws: ImageCacheError.self) { try await bench.cache.image(for: Bench.url) }
        #expect(error?.code == .undecodable(.failed))
    }

    @Test func `a cut pixmap is an error with its format`() async throws {
        let bench = try bench(Array(Self.pixmap(40, 30).dropLast(5)))
        let error = await #expect(throws: ImageCacheError.self) { try await bench.cache.image(for: Bench.url) }
        #expect(error?.code == .undecodable(.truncated))
        #expect(error?.description.contains("PPM") == true)
    }

    // MARK: Encoders and processors

    @Test(.timeLimit)
    func `thumbnails of an application's encoder are stored under its identity`() async throws {
        let directory = try TestDirectory()
        let first = try bench(in: directory)
        let thumbnail = try await first.cache.thumbnail(
            for: Bench.url, resizedTo: .fit(40, 40), as: ImageEncoder(PixmapEncoder()))
        #expect(thumbnail.bytes == Self.pixmap(40, 30) && thumbnail.format.mediaType == "image/x-portable-pixmap")
        await first.cache.close()
        let again = try bench(in: directory)
        let found = try await again.cache.thumbnail(
            for: Bench.url, resizedTo: .fit(40, 40), as: ImageEncoder(PixmapEncoder()))
        #expect(found.source == .thumbnail(.disk) && found.bytes == thumbnail.bytes && found.format == .pixmap)
    }

    @Test(.timeLimit)
    func `an application's effect changes the resized image, and its identity separates its results`() async throws {
        let logo = try DecodedImage(width: 2, height: 2) { pixels in
            for index in pixels.indices { pixels[index] = index % 4 == 3 ? 255 : 10 }
        }
        let bench = try bench()
        var request = ImageRequest(Bench.url)
        request.processors = [ImageProcessor(Watermark(logo: logo, name: "a"))]
        let marked = try await bench.cache.image(for: request).image
        #expect(marked[39, 29] == SIMD4(10, 10, 10, 255) && marked[38, 28] == SIMD4(10, 10, 10, 255))
        #expect(marked[37, 29] == SIMD4(37, 29, 200, 255))
        request.processors = [ImageProcessor(Watermark(logo: logo, name: "b"))]
        #expect(try await bench.cache.image(for: request).source == .original(.disk))
    }

    // MARK: Transports

    @Test func `a transport of the application's own serves files and error statuses`() async throws {
        let directory = try TestDirectory()
        var configuration = DownloadCache.Configuration()
        configuration.transport = FixtureTransport(fixtures: ["http://a.example/1": [1, 2, 3]])
        let cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
        let file = try await cache.file(for: "http://a.example/1")
        #expect(try Data(contentsOf: URL(filePath: file.path)) == Data([1, 2, 3]))
        var again = FileRequest("http://a.example/1")
        again.policy = .returnCacheDataElseLoad
        // Stale, where the run was slow.
        #expect([.disk, .stale].contains(try await cache.file(for: again).source))
        let error = await #expect(throws: ImageCacheError.self) { try await cache.file(for: "http://a.example/2") }
        #expect(error?.code == .status(404))
    }
}
