import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing
import Units

/// Images that are asked for alone and among others: the same bytes, bounded work, and none for who has left.
@Suite(.fewAtATime) struct SharedRenderingTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func cache(_ name: String, _ change: (inout DownloadCache.Configuration) -> Void = { _ in }) throws
        -> DownloadCache
    {
        var configuration = DownloadCache.Configuration()
        configuration.watchesMemoryPressure = false
        change(&configuration)
        return try DownloadCache(directory: directory.path(name), configuration: configuration)
    }

    private static func image(_ width: Int, _ height: Int, alpha: Bool = false) throws -> DecodedImage {
        try DecodedImage(width: width, height: height) { memory in
            for index in 0..<(width * height) {
                let (x, y) = (index % width, index / width)
                memory[index * 4] = UInt8(truncatingIfNeeded: x &* y)
                memory[index * 4 + 1] = UInt8(truncatingIfNeeded: x &* 3)
                memory[index * 4 + 2] = UInt8(truncatingIfNeeded: (x ^ y) &* 5)
                memory[index * 4 + 3] = alpha ? UInt8(truncatingIfNeeded: x + y) : 255
            }
        }
    }

    /// - Parameter gate: What the answers wait for.
    private func origin(_ files: [String: [UInt8]], gate: Gate? = nil) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            guard let bytes = files[request.path] else { return Behaviour.status(404).script(for: request) }
            let fields = [
                ("Date", httpDate(Date())), ("ETag", "\"1\""), ("Cache-Control", "max-age=3600"),
                ("Content-Length", "\(bytes.count)"),
            ]
            return (gate.map { [.wait(for: $0)] } ?? []) + [.head(status: 200, fields: fields), .body(bytes)]
        }
    }

    private struct Wanted {
        var request: ImageRequest
        var encoder: ImageEncoder

        init(_ origin: ScriptedOrigin, _ paths: [String], _ generator: inout SeededGenerator) {
            func side() -> Int { Int.random(in: 8...260, using: &generator) }
            var sizing = ImageSizing(
                width: side(), height: Bool.random(using: &generator) ? side() : nil,
                fit: ImageSizing.Fit.allCases.randomElement(using: &generator) ?? .inside)
            sizing.allowsEnlargement = Bool.random(using: &generator)
            if Bool.random(using: &generator) { sizing.position = .attention }
            request = ImageRequest(origin.url(paths.randomElement(using: &generator) ?? ""), sizing)
            if Int.random(in: 0..<4, using: &generator) == 0 { request.processors = [.blur(sigma: 2), .grayscale] }
            encoder = [.jpeg(), .png(level: 1), .webp()].randomElement(using: &generator) ?? .jpeg()
        }
    }

    @Test func `a thumbnail has the same bytes and tag alone, among others, from memory and from disk`() async throws {
        var generator = SeededGenerator(for: "shared rendering")
        var progressive = ImageEncoder.JPEGOptions(quality: 85)
        progressive.isProgressive = true
        let files: [String: [UInt8]] = [
            "/a.jpg": try ImageEncoder.jpeg(quality: 90).encode(Self.image(640, 480)),
            "/b.jpg": try ImageEncoder(.jpeg(progressive)).encode(Self.image(300, 500)),
            "/c.png": try ImageEncoder.png(level: 1).encode(Self.image(320, 200, alpha: true)),
            "/d.webp": try ImageEncoder.webp().encode(Self.image(400, 300)),
        ]
        let origin = try origin(files)
        let wanted = (0..<40).map { _ in Wanted(origin, files.keys.sorted(), &generator) }
        let single = try cache("alone") { $0.maxDecodes = 1 }
        var alone: [Thumbnail] = []
        for one in wanted { alone.append(try await single.thumbnail(for: one.request, as: one.encoder)) }
        let crowd = try cache("together") { $0.maxDecodes = 4 }
        // Some come before the others, which find them there, or their original.
        for index in 0..<4 {
            _ = try await crowd.thumbnail(for: wanted[index * 7].request, as: wanted[index * 7].encoder)
        }
        for round in 0..<3 {
            try await withThrowingTaskGroup(of: (Int, Thumbnail).self) { group in
                for (index, one) in wanted.enumerated() {
                    group.addTask { (index, try await crowd.thumbnail(for: one.request, as: one.encoder)) }
                }
                for try await (index, made) in group {
                    #expect(made.bytes == alone[index].bytes, "round \(round): \(wanted[index])")
                    #expect(made.entityTag == alone[index].entityTag)
                }
            }
            if round == 1 { try await crowd.clear(.memory) }
        }
    }

    @Test func `several sizes of a very narrow image have the same outcome together as alone`() async throws {
        let sliver = try DecodedImage(width: 59_424, height: 3) { memory in
            for index in memory.indices { memory[index] = 255 }
        }
        let origin = try origin(["/a.jpg": try ImageEncoder.jpeg(quality: 50).encode(sliver)])
        func outcomes(_ sizings: [ImageSizing], _ name: String) async throws -> [ImageCacheError.Code?] {
            let cache = try cache(name) { $0.maxDecodes = 2 }
            return await withTaskGroup(of: (Int, ImageCacheError.Code?).self) { group in
                for (index, sizing) in sizings.enumerated() {
                    group.addTask {
                        var request = ImageRequest(origin.url("/a.jpg"), sizing)
                        request.decoder.limits.pixels = 1 << 20
                        do throws(ImageCacheError) {
                            _ = try await cache.thumbnail(for: request)
                            return (index, nil)
                        } catch {
                            return (index, error.code)
                        }
                    }
                }
                var codes = [ImageCacheError.Code?](repeating: nil, count: sizings.count)
                for await (index, code) in group { codes[index] = code }
                #expect(cache.imageStatistics.peakDecodingMemory < 64 << 20)
                return codes
            }
        }
        var tall = ImageSizing(width: 10, height: 50_000, fit: .fill)
        tall.allowsEnlargement = true
        var large = ImageSizing(width: 300, height: 8000, fit: .cover)
        large.allowsEnlargement = true
        let sizings = [tall, large, ImageSizing.fit(64, 64), .cover(40, 3)]
        var alone: [ImageCacheError.Code?] = []
        for (index, sizing) in sizings.enumerated() { alone += try await outcomes([sizing], "alone\(index)") }
        #expect(try await outcomes(sizings, "together") == alone)
        #expect(alone == [nil, .undecodable(.limitExceeded), nil, nil])
    }

    @Test func `sixty sizes of one original take turns within the memory for decodes`() async throws {
        let origin = try origin(["/a.png": try ImageEncoder.png(level: 1).encode(Self.image(900, 700))])
        let cache = try cache("many") {
            $0.maxDecodes = 2
            $0.decodingMemory = 24 << 20
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for width in 301...360 {
                group.addTask {
                    try await cache.thumbnail(for: ImageRequest(origin.url("/a.png"), .fit(width, width))).width
                }
            }
            var widths: Set<Int> = []
            for try await width in group { widths.insert(width) }
            #expect(widths == Set(301...360))
        }
        let statistics = cache.imageStatistics
        #expect(statistics.peakDecodingMemory <= 24 << 20, "\(statistics)")
        #expect((8...60).contains(statistics.decodes), "\(statistics)")
        #expect(origin.requests.count == 1)
    }

    @Test func `sizes whose callers have all left are neither decoded nor encoded`() async throws {
        let gate = Gate()
        let origin = try origin(["/a.jpg": try ImageEncoder.jpeg().encode(Self.image(640, 480))], gate: gate)
        let cache = try cache("left")
        let url = origin.url("/a.jpg")
        let callers = (1...50).map { size in Task { try await cache.thumbnail(for: url, resizedTo: .fit(size, size)) } }
        let patient = Task { try await cache.thumbnail(for: url, resizedTo: .fit(60, 60)) }
        #expect(await origin.waits { $0.count == 1 })
        for caller in callers { caller.cancel() }
        for caller in callers { _ = await caller.result }
        gate.open()
        #expect(try await patient.value.width == 60)
        let statistics = cache.imageStatistics
        #expect((statistics.decodes, statistics.resizes, statistics.encodes) == (1, 1, 1))
    }

    @Test func `work that is under way ends when its last caller leaves`() async throws {
        let origin = try origin(["/a.jpg": try ImageEncoder.jpeg().encode(Self.image(640, 480))])
        let cache = try cache("leaves") { $0.maxDecodes = 1 }
        let (begun, left) = (Gate(), Gate())
        let steps = Locked<[String]>([])
        var request = ImageRequest(origin.url("/a.jpg"), .fit(64, 64))
        request.processors = [
            ImageProcessor(identity: "waits") { image in
                begun.open()
                block { left.isOpen }
                return image
            }, .grayscale,
            ImageProcessor(identity: "notes") { image in
                steps.withLock { $0.append("reached") }
                return image
            },
        ]
        let caller = Task { [request] in try await cache.thumbnail(for: request) }
        while !begun.isOpen { try await Task.sleep(for: .milliseconds(2)) }
        caller.cancel()
        _ = await caller.result
        left.open()
        // The only thread for decodes is free again.
        #expect(try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(32, 32)).width == 32)
        #expect(steps.withLock { $0 } == [])
        #expect(cache.imageStatistics.encodes == 1)
    }

    @Test func `images made of rows in memory count as no decode, also in the times`() async throws {
        let origin = try origin(["/a.jpg": try ImageEncoder.jpeg().encode(Self.image(640, 480))])
        let cache = try cache("times")
        for size in 40..<60 {
            _ = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(size, size))
        }
        let statistics = cache.imageStatistics
        #expect((1..<20).contains(statistics.decodes))
        #expect(statistics.times.decode.count == statistics.decodes)
        #expect(statistics.times.encode.count == 20)
    }
}
