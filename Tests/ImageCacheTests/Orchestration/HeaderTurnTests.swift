import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import Glibc
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// Headers are read in turns of their clients, and hold up nothing but images.
@Suite(.timeLimit) struct HeaderTurnTests {
    /// A decoder whose headers wait until a test opens their gate, and which notes them.
    private final class HeldDecoder: ImageDecoding {
        let format = ImageFormat(name: "held", mediaType: "image/x-held")
        let identity = "held 1"
        private let state = Locked((begun: [String](), open: Set<String>(), all: false))

        var begun: [String] { state.withLock { $0.begun } }
        func open(_ name: String) { state.withLock { _ = $0.open.insert(name) } }
        func openAll() { state.withLock { $0.all = true } }

        func canDecode(_ start: [UInt8]) -> Bool { start.starts(with: "HELD ".utf8) }

        func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
            let name = String(decoding: try source.prefix(16).dropFirst(5), as: UTF8.self)
            state.withLock { $0.begun.append(name) }
            block { state.withLock { $0.all || $0.open.contains(name) } }
            return DecodingHeader(width: 2, height: 2)
        }

        func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
            try DecodedImage(width: 2, height: 2) { _ in }
        }
    }

    private func bench(_ decoder: any ImageDecoding, decodes: Int = 2) throws -> Bench {
        try Bench {
            $0.decoders = [decoder]
            $0.maxDecodes = decodes
        } script: { request in
            let name = request.url.split(separator: "/").last ?? ""
            let text = "HELD \(name)".padding(toLength: 40, withPad: " ", startingAt: 0)
            return ScriptedRepresentation(Array(text.utf8)).response(to: request)
        }
    }

    private static func url(_ name: String) -> String { "http://origin.example/\(name)" }

    enum Work: CaseIterable {
        case thumbnail, pixels, description, animation, entryPreview
    }

    private static func begin(_ work: Work, _ url: String, in cache: DownloadCache) async {
        var request = ImageRequest(url, .fit(2, 2))
        request.file.client = "greedy"
        switch work {
        case .thumbnail: _ = try? await cache.thumbnail(for: request, as: .png())
        case .pixels: _ = try? await cache.image(for: request)
        case .description: _ = try? await cache.info(for: request)
        case .animation: _ = try? await cache.animation(for: request)
        case .entryPreview:
            let entry = try? await cache.entries().first { $0.url == url }
            if let entry { _ = try? await cache.preview(ofEntry: entry.id, .fit(2, 2)) }
        }
    }

    @Test(arguments: Work.allCases)
    func `a file on disk is served while no decoder answers`(work: Work) async throws {
        let decoder = HeldDecoder()
        defer { decoder.openAll() }
        let bench = try bench(decoder)
        let cache = bench.cache
        // More than the store has threads.
        let urls = (0..<80).map { Self.url("\($0)") }
        for url in urls + [Self.url("other")] { _ = try await cache.file(for: url) }
        let (ended, served) = (Locked(0), Locked(false))
        await withTaskGroup(of: Void.self) { group in
            for url in urls {
                group.addTask {
                    await Self.begin(work, url, in: cache)
                    ended.withLock { $0 += 1 }
                }
            }
            let slots = cache.pipeline.renderer.slots
            #expect(await eventually { slots.running == 2 && slots.waiting == urls.count - 2 })
            group.addTask {
                let file = try? await cache.file(for: Self.url("other"))
                #expect(file?.source == .disk)
                served.withLock { $0 = true }
            }
            #expect(await eventually { served.withLock { $0 } })
            #expect(ended.withLock { $0 } == 0 && decoder.begun.count == 2)
            decoder.openAll()
        }
        #expect(ended.withLock { $0 } == urls.count)
        // Its directory ends with it.
        withExtendedLifetime(bench) {}
    }

    @Test func `the headers of one client take no more than its share while another client's wait`() async throws {
        let decoder = HeldDecoder()
        defer { decoder.openAll() }
        // A quarter is one.
        let bench = try bench(decoder, decodes: 4)
        let cache = bench.cache
        let slots = cache.pipeline.renderer.slots
        await withTaskGroup(of: Void.self) { group in
            @Sendable func ask(_ client: String, _ number: Int) async {
                var request = ImageRequest(Self.url("\(client)\(number)"), .fit(2, 2))
                request.file.client = client
                _ = try? await cache.thumbnail(for: request, as: .png())
            }
            for number in 0..<8 { group.addTask { await ask("ann", number) } }
            #expect(await eventually { decoder.begun.count == 4 && slots.waiting == 4 })
            group.addTask { await ask("ben", 0) }
            #expect(await eventually { slots.waiting == 5 })
            decoder.open(decoder.begun[0])
            #expect(await eventually { decoder.begun.count == 5 })
            #expect(decoder.begun[4].hasPrefix("ben0"), "\(decoder.begun)")
            decoder.openAll()
        }
        withExtendedLifetime(bench) {}
    }

    @Test(
        arguments: [
            ([0xFF, 0xD8, 0xFF], false), ([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10], false),
            (Array("GIF89a".utf8), false),
            (Array("RIFF----WEBP".utf8), true), ([0, 0, 0, 16] + Array("ftypavif".utf8), true),
            ([0, 0, 0, 16] + Array("ftypheic".utf8), true), (Array("HELD a".utf8), true),
        ] as [([UInt8], Bool)])
    func `the header of a large file takes the file's memory if its decoder reads all of it`(
        start: [UInt8], readsWhole: Bool
    ) async throws {
        let decoder = HeldDecoder()
        decoder.openAll()
        for size in [1000, 3 << 20] {
            let bench = try Bench {
                $0.decoders = [decoder]
            } script: { request in
                ScriptedRepresentation(start + [UInt8](repeating: 0, count: size - start.count)).response(to: request)
            }
            await Self.begin(.thumbnail, Self.url("a"), in: bench.cache)
            let least = ImageRenderer.headerMemory
            let expected = readsWhole && size > least ? least + size : least
            #expect(bench.cache.pipeline.renderer.slots.peakMemory == expected, "\(size)")
        }
    }

    /// A decoder each of whose steps takes a part of the time that an image has.
    private struct SlowDecoder: ImageDecoding {
        let format = ImageFormat(name: "slow", mediaType: "image/x-slow")
        let identity = "slow 1"
        static let seconds = 0.2

        func canDecode(_ start: [UInt8]) -> Bool { start.starts(with: "HELD ".utf8) }

        private func work() {
            func time() -> Double {
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
            }
            let end = time() + Self.seconds
            while time() < end {}
        }

        func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
            work()
            return DecodingHeader(width: 2, height: 2)
        }

        func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
            work()
            return try DecodedImage(width: 2, height: 2) { _ in }
        }
    }

    @Test func `the header of an image is part of the image's time`() async throws {
        let bench = try bench(SlowDecoder())
        let cache = bench.cache
        var request = ImageRequest(Self.url("a"), .fit(2, 2))
        request.decoder.limits.seconds = SlowDecoder.seconds * 1.5
        let error = await #expect(throws: ImageCacheError.self) { try await cache.thumbnail(for: request, as: .png()) }
        #expect(error?.code == .undecodable(.limitExceeded), "\(error as Any)")
        request.decoder.limits.seconds = SlowDecoder.seconds * 10
        #expect(try await cache.thumbnail(for: request, as: .png()).width == 2)
        withExtendedLifetime(bench) {}
    }
}
