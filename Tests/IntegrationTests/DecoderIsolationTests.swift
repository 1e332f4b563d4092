import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// The library with decoders in worker processes of the command.
@Suite(.fewAtATime(limit: .seconds(180))) struct DecoderIsolationTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private static let size = (width: 640, height: 480)

    private static func picture(_ seed: Int, orientation: UInt8 = 1) -> [UInt8] {
        var image = try? DecodedImage(width: size.width, height: size.height) { memory in
            for index in 0..<(size.width * size.height) {
                memory[index * 4] = UInt8(truncatingIfNeeded: index % size.width * 255 / size.width)
                memory[index * 4 + 1] = UInt8(truncatingIfNeeded: index / size.width * 255 / size.height)
                memory[index * 4 + 2] = UInt8(truncatingIfNeeded: seed * 60)
                memory[index * 4 + 3] = 255
            }
        }
        image?.exif =
            Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]
        return image.flatMap { try? ImageEncoder.jpeg(quality: 90).encode($0) } ?? []
    }

    private func origin(waitingFor gate: Gate? = nil) throws -> ScriptedOrigin {
        let bytes = Self.picture(1)
        return try ScriptedOrigin { _ in
            let wait: [OriginStep] = gate.map { [.wait(for: $0)] } ?? []
            let fields = [("Cache-Control", "max-age=60"), ("Content-Length", "\(bytes.count)")]
            return wait + [.head(status: 200, fields: fields), .body(bytes)]
        }
    }

    private func cache(_ name: String, _ isolation: DecoderIsolation?) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.decoderIsolation = isolation
        return try DownloadCache(directory: directory.path(name), configuration: configuration)
    }

    private var workers: DecoderIsolation { DecoderIsolation(helper: CommandRunner.executable) }

    private func bytes(_ image: DecodedImage) -> [UInt8] { image.withUnsafeBytes { Array($0) } }

    @Test func `workers decode the same pixels as this process, from the network and from the disk`() async throws {
        let origin = try origin()
        let (isolated, plain) = (try cache("isolated", workers), try cache("plain", nil))
        for sizing in [nil, ImageSizing.fit(100, 100), .cover(33, 44)] {
            let request = ImageRequest(origin.url("/a.jpg"), sizing)
            let expected = try await plain.image(for: request).image
            let image = try await isolated.image(for: request).image
            #expect(bytes(image) == bytes(expected) && image.isOpaque == expected.isOpaque)
        }
        try await isolated.clear(.memory)
        let again = try await isolated.image(for: ImageRequest(origin.url("/a.jpg"), .fit(100, 100)))
        #expect(again.source == .thumbnail(.disk))
        let expected = try await plain.image(for: ImageRequest(origin.url("/a.jpg"), .fit(100, 100)))
        #expect(bytes(again.image) == bytes(expected.image))
        #expect(isolated.imageStatistics.crashes == 0)
    }

    @Test func `many sizes of one original share a decode, and later ones its rows`() async throws {
        let gate = Gate()
        let origin = try origin(waitingFor: gate)
        let cache = try cache("cache", workers)
        let url = origin.url("/a.jpg")
        try await withThrowingTaskGroup(of: Thumbnail.self) { group in
            for size in 21...28 { group.addTask { try await cache.thumbnail(for: url, resizedTo: .fit(size, size)) } }
            #expect(await eventually { cache.imageStatistics.waiting == 8 })
            gate.open()
            for try await thumbnail in group { #expect(thumbnail.width >= 21) }
        }
        #expect(cache.imageStatistics.decodes == 1)
        #expect(cache.imageStatistics.encodes == 8)
        for size in 29...36 { _ = try await cache.thumbnail(for: url, resizedTo: .fit(size, size)) }
        // The second decode keeps its rows.
        #expect(cache.imageStatistics.decodes == 2)
        let plain = try self.cache("plain", nil)
        let expected = try await plain.thumbnail(for: url, resizedTo: .fit(36, 36))
        let thumbnail = try await cache.thumbnail(for: url, resizedTo: .fit(36, 36))
        #expect(thumbnail.bytes == expected.bytes)
    }

    /// Images whose last steps make further pixels.
    enum Shape: CaseIterable, Sendable {
        case turned, onBackground, selected

        func sizing(_ side: Int) -> ImageSizing {
            var sizing = ImageSizing.fit(side, side)
            switch self {
            case .turned: break
            case .onBackground:
                sizing.fit = .contain
                sizing.background = .white
            case .selected: sizing = .cover(side, side * 3 / 5, position: .attention)
            }
            return sizing
        }
    }

    @Test(arguments: Shape.allCases)
    func `a worker decodes eight sizes at once, from the file, keeping its rows, and from the rows`(
        shape: Shape
    ) async throws {
        let gate = Locked(Gate())
        let bytes = Self.picture(1, orientation: shape == .turned ? 6 : 1)
        let origin = try ScriptedOrigin { request in
            let fields = [("Cache-Control", "no-cache"), ("ETag", "\"1\"")]
            let wait = OriginStep.wait(for: gate.withLock { $0 })
            if request["If-None-Match"] != nil { return [wait, .head(status: 304, fields: fields)] }
            return [wait, .head(status: 200, fields: fields + [("Content-Length", "\(bytes.count)")]), .body(bytes)]
        }
        let cache = try cache("cache", workers)
        let plain = try self.cache("plain", nil)
        for round in 0..<3 {
            // All of them are decoded at half the size.
            let requests = (0..<8).map { ImageRequest(origin.url("/a.jpg"), shape.sizing(100 + round * 8 + $0)) }
            let images = try await withThrowingTaskGroup(of: (Int, DecodedImage).self) { group in
                for (index, request) in requests.enumerated() {
                    group.addTask { (index, try await cache.image(for: request).image) }
                }
                #expect(await eventually { cache.imageStatistics.waiting == 8 })
                gate.withLock { $0 }.open()
                var images: [Int: DecodedImage] = [:]
                for try await (index, image) in group { images[index] = image }
                return images
            }
            for (index, request) in requests.enumerated() {
                let expected = try await plain.image(for: request).image
                #expect(images[index].map { self.bytes($0) } == self.bytes(expected))
            }
            // The second decode keeps its rows.
            #expect(cache.imageStatistics.decodes == min(round + 1, 2))
            gate.withLock { $0 = Gate() }
        }
        #expect(cache.imageStatistics.crashes == 0)
    }

    private struct Inverting: ImageProcessing {
        var identity: String { "inverting 1" }

        func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
            try DecodedImage(width: image.width, height: image.height) { target in
                image.withUnsafeBytes { source in
                    for index in source.indices { target[index] = index % 4 == 3 ? 255 : 255 - source[index] }
                }
            }
        }
    }

    @Test func `effects have the same result in workers, including an application's own`() async throws {
        let origin = try origin()
        let (isolated, plain) = (try cache("isolated", workers), try cache("plain", nil))
        let mark = ImageWatermark(
            try DecodedImage(width: 150, height: 150) { $0.copyBytes(from: repeatElement(200, count: $0.count)) })
        let own = ImageProcessor(Inverting())
        for processors: [ImageProcessor] in [
            [.blur(sigma: 2), .grayscale], [.watermark(mark)], [.circle], [.crop(x: 3, y: 4, width: 20, height: 10)],
            [.region(.shares(x: 0.1, y: 0.2, width: 0.5, height: 0.5)), .orient(.right)],
            [.adjust(brightness: 1.2, contrast: 0.8, saturation: 1.5), .sharpen(amount: 2)],
            [.pad(by: 3, color: .black), .background(.white)],
            [.resize(.fit(17, 17)), own, .roundedCorners(radius: 3)], [.trim(tolerance: 9)],
        ] {
            var request = ImageRequest(origin.url("/a.jpg"), .fit(90, 90))
            request.processors = processors
            let expected = try await plain.thumbnail(for: request, as: .webp())
            let thumbnail = try await isolated.thumbnail(for: request, as: .webp())
            #expect(thumbnail.bytes == expected.bytes, "\(processors.map(\.identity))")
        }
    }

    @Test func `without a helper, images fail or are decoded in this process, as configured`() async throws {
        let origin = try origin()
        var isolation = DecoderIsolation(helper: directory.path("nothing"))
        let strict = try cache("strict", isolation)
        let error = await #expect(throws: ImageCacheError.self) {
            try await strict.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64))
        }
        #expect(error?.code == .undecodable(.unavailable), "\(error as Any)")
        #expect(error?.message.contains("nothing") == true, "\(error as Any)")
        isolation.isOptional = true
        let lax = try cache("lax", isolation)
        #expect(try await lax.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(64, 64)).width == 64)
    }

    private func outcome(_ request: ImageRequest, in cache: DownloadCache) async -> String {
        do throws(ImageCacheError) {
            let image = try await cache.image(for: request).image
            return "\(image.width) x \(image.height)"
        } catch {
            return "\(error.code)"
        }
    }

    @Test func `each limit at its extremes has the same effect in workers as in this process`() async throws {
        let origin = try origin()
        let (isolated, plain) = (try cache("isolated", workers), try cache("plain", nil))
        let numbers: [WritableKeyPath<DecodingLimits, Int>] = [
            \.pixels, \.side, \.bytes, \.memory, \.ancillary, \.scans, \.frames, \.animationPixels,
        ]
        let times: [WritableKeyPath<DecodingLimits, Double>] = [\.seconds, \.animationSeconds]
        var cases: [(limits: DecodingLimits, isLargest: Bool)] = [(Self.largest, true)]
        for limit in numbers {
            for value in [0, 1, Int.max] {
                cases.append((DecodingLimits(), value == .max))
                cases[cases.count - 1].limits[keyPath: limit] = value
            }
        }
        for limit in times {
            for value in [0, 1e300, Double.infinity] {
                cases.append((DecodingLimits(), value > 0))
                cases[cases.count - 1].limits[keyPath: limit] = value
            }
        }
        for (number, one) in cases.enumerated() {
            var request = ImageRequest(origin.url("/\(number).jpg"), .fit(100, 100))
            request.decoder.limits = one.limits
            let expected = await outcome(request, in: plain)
            let got = await outcome(request, in: isolated)
            #expect(got == expected, "\(one.limits)")
            #expect(!one.isLargest || expected == "100 x 75", "\(one.limits)")
        }
        #expect(isolated.imageStatistics.crashes == 0)
    }

    /// All limits at their greatest values.
    private static var largest: DecodingLimits {
        var limits = DecodingLimits()
        (limits.pixels, limits.side, limits.bytes, limits.memory) = (.max, .max, .max, .max)
        (limits.ancillary, limits.scans, limits.frames, limits.animationPixels) = (.max, .max, .max, .max)
        (limits.seconds, limits.animationSeconds) = (.infinity, .infinity)
        return limits
    }

    @Test(arguments: [0, 1, Int.max], [false, true])
    func `each setting of decodes at its extremes makes images`(value: Int, isIsolated: Bool) async throws {
        let origin = try origin()
        let settings: [WritableKeyPath<DownloadCache.Configuration, Int>] = [\.maxDecodes, \.decodingMemory]
        for (number, setting) in settings.enumerated() {
            var configuration = DownloadCache.Configuration()
            configuration.decoderIsolation = isIsolated ? workers : nil
            configuration[keyPath: setting] = value
            configuration.maxDecodesPerClient = value
            let cache = try DownloadCache(directory: directory.path("\(number)"), configuration: configuration)
            var request = ImageRequest(origin.url("/a.jpg"), .fit(100, 100))
            request.file.client = "a"
            let got = await outcome(request, in: cache)
            #expect(got == "100 x 75", "\(setting)")
        }
    }
}
