import ConcurrencyPrimitives
import Foundation
import Glibc
import ImageCache
import TestSupport
import Testing

/// The frames of animated images, from worker processes of the command.
@Suite(.fewAtATime(limit: .seconds(180))) struct IsolatedAnimationTests {
    private let directory: TestDirectory
    private let helper: DecoderHelper

    init() throws {
        directory = try TestDirectory()
        helper = try DecoderHelper(in: directory)
    }

    private static let frames = 20

    /// An animation, 120 x 90: frame n has 5 n in red, and a gradient in green that moves.
    private static let animation: [UInt8] = {
        let encoder = try? AnimationEncoder(.webp(isLossless: true), width: 120, height: 90)
        for number in 0..<frames {
            let image = try? DecodedImage(width: 120, height: 90) { pixels in
                for index in 0..<120 * 90 {
                    pixels[index * 4] = UInt8(number * 5)
                    pixels[index * 4 + 1] = UInt8((index + number * 7) % 120 * 2)
                    pixels[index * 4 + 3] = 255
                }
            }
            if let image { try? encoder?.add(image, for: .milliseconds((number + 1) * 10)) }
        }
        return (try? encoder?.finish()) ?? []
    }()

    /// - Parameter fault: Appended to the animation.
    private func origin(_ fault: String? = nil) throws -> ScriptedOrigin {
        let bytes = Self.animation + (fault.map(DecoderHelper.mark) ?? [])
        return try ScriptedOrigin { _ in
            let fields = [("Cache-Control", "max-age=60"), ("Content-Length", "\(bytes.count)")]
            return [.head(status: 200, fields: fields), .body(bytes)]
        }
    }

    /// - Parameter keepsFrames: False for a memory cache in which no frame stays.
    private func cache(
        _ name: String, isolated: Bool = true, decodes: Int = 4, keepsFrames: Bool = true, log: RecordedLines? = nil
    ) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        if isolated { configuration.decoderIsolation = DecoderIsolation(helper: helper.path) }
        configuration.maxDecodes = decodes
        if !keepsFrames { configuration.memory = try MemoryCacheLimits(capacity: 1, preferredUsage: 1) }
        if let log { configuration.logger = log.logger }
        return try DownloadCache(directory: directory.path(name), configuration: configuration)
    }

    private struct Frame: Equatable {
        var pixels: [UInt8]
        var duration: Duration

        init(_ frame: AnimationFrame) {
            pixels = frame.image.withUnsafeBytes { Array($0) }
            duration = frame.duration
        }
    }

    private func all(_ animation: CachedAnimation) async throws -> [Frame] {
        var frames: [Frame] = []
        for try await frame in animation.frames { frames.append(Frame(frame)) }
        return frames
    }

    @Test(arguments: [nil, ImageSizing.fit(60, 60), .cover(40, 40, position: .attention)])
    func `frames decoded by workers equal those of this process, including their times`(_ sizing: ImageSizing?)
        async throws
    {
        let origin = try origin()
        let (isolated, plain) = (try cache("isolated"), try cache("plain", isolated: false))
        let url = origin.url("/a.webp")
        let expected = try await all(try await plain.animation(for: url, resizedTo: sizing))
        #expect(expected.count == Self.frames)
        let animation = try await isolated.animation(for: url, resizedTo: sizing)
        #expect(try await all(animation) == expected)
        #expect(isolated.imageStatistics.decodes == 1 && isolated.imageStatistics.crashes == 0)
        // From memory, without a worker.
        for worker in try helper.processes().workers { kill(worker, SIGKILL) }
        #expect(try await all(animation) == expected)
        #expect(isolated.imageStatistics.decodes == 1)
    }

    @Test func `an iteration that finds the first frames in memory continues after them`() async throws {
        let origin = try origin()
        let (isolated, plain) = (try cache("isolated"), try cache("plain", isolated: false))
        let expected = try await all(try await plain.animation(for: origin.url("/a.webp"), resizedTo: .fit(60, 60)))
        let animation = try await isolated.animation(for: origin.url("/a.webp"), resizedTo: .fit(60, 60))
        var iterator = animation.frames.makeAsyncIterator()
        for _ in 0..<5 { _ = try await iterator.next() }
        #expect(try await all(animation) == expected)
        #expect(isolated.imageStatistics.decodes == 2)
    }

    @Test func `effects apply to each frame, including an application's own`() async throws {
        let origin = try origin()
        let (isolated, plain) = (try cache("isolated"), try cache("plain", isolated: false))
        let own = ImageProcessor(identity: "first pixel") { (image) throws(ImageCodecError) in
            try DecodedImage(width: 1, height: 1) { pixels in
                (pixels[0], pixels[1], pixels[3]) = (image[0, 0].x, image[0, 0].y, 255)
            }
        }
        for processors: [ImageProcessor] in [[.grayscale], [.blur(sigma: 1), own], [own, .grayscale]] {
            var request = ImageRequest(origin.url("/a.webp"), .fit(30, 30))
            request.processors = processors
            let expected = try await all(try await plain.animation(for: request))
            #expect(expected.count == Self.frames)
            #expect(try await all(try await isolated.animation(for: request)) == expected)
        }
    }

    @Test func `workers and helpers that are killed between two frames are replaced without a lost frame`() async throws
    {
        let origin = try origin()
        let (isolated, plain) = (try cache("isolated", keepsFrames: false), try cache("plain", isolated: false))
        let expected = try await all(try await plain.animation(for: origin.url("/a.webp"), resizedTo: .fit(60, 60)))
        let animation = try await isolated.animation(for: origin.url("/a.webp"), resizedTo: .fit(60, 60))
        var frames: [Frame] = []
        for try await frame in animation.frames {
            frames.append(Frame(frame))
            let all = try helper.processes()
            for process in frames.count % 3 == 0 ? all.helpers : all.workers { kill(process, SIGKILL) }
        }
        #expect(frames == expected)
    }

    @Test func `a worker that is killed in the middle of a frame has its work done again`() async throws {
        // A frame that takes for ever: its worker is killed from outside until that counts as the file's own fault.
        let origin = try origin("loop 5")
        let log = RecordedLines()
        let isolated = try cache("isolated", log: log)
        let animation = try await isolated.animation(for: origin.url("/a.webp"))
        let isOver = Locked(false)
        let killer = Task {
            while !isOver.withLock({ $0 }) {
                let busy = try helper.processes().workers.filter { DecoderProcesses.seconds(of: $0) > 0.3 }
                for worker in busy { kill(worker, SIGKILL) }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        var iterator = animation.frames.makeAsyncIterator()
        for number in 0..<5 { #expect(try await iterator.next()?.image[0, 0].x == UInt8(number * 5)) }
        let error = await #expect(throws: ImageCacheError.self) { while try await iterator.next() != nil {} }
        isOver.withLock { $0 = true }
        try await killer.value
        #expect(error?.code == .undecodable(.crashed), "\(error as Any)")
        #expect(log.all.count { $0.contains("broke its decoder") } == 1, "\(log.all)")
        #expect(isolated.imageStatistics.crashes == 3)
    }

    @Test(arguments: ["address", "memory", "open", "abort"])
    func `a crash during an animation is logged and ends the stream after the earlier frames`(
        fault: String
    ) async throws {
        let origin = try origin("\(fault) 6")
        let log = RecordedLines()
        let isolated = try cache("isolated", log: log)
        let animation = try await isolated.animation(for: origin.url("/a.webp"), resizedTo: .fit(60, 60))
        var iterator = animation.frames.makeAsyncIterator()
        for number in 0..<6 { #expect(try await iterator.next()?.image[0, 0].x == UInt8(number * 5)) }
        let error = await #expect(throws: ImageCacheError.self) { try await iterator.next() }
        #expect(error?.code == .undecodable(.crashed), "\(error as Any)")
        #expect(try await iterator.next() == nil)
        #expect(log.all.count { $0.contains("broke its decoder") } == 1, "\(log.all)")
        let digest = SHA256.hex(of: Self.animation + DecoderHelper.mark("\(fault) 6"))
        #expect(log.all.contains { $0.contains(digest) }, "\(log.all)")
        // A still image of the same file has the first frame alone.
        #expect(try await isolated.thumbnail(for: origin.url("/a.webp"), resizedTo: .fit(64, 64)).width == 64)
    }

    @Test func `paused iterations block no worker and resume with the same frames`()
        async throws
    {
        let origin = try origin()
        let plain = try cache("plain", isolated: false)
        let isolated = try cache("isolated", decodes: 1, keepsFrames: false)
        let expected = try await all(try await plain.animation(for: origin.url("/a.webp"), resizedTo: .fit(60, 60)))
        let animation = try await isolated.animation(for: origin.url("/a.webp"), resizedTo: .fit(60, 60))
        var iterators = (0..<8).map { _ in animation.frames.makeAsyncIterator() }
        for number in 0..<Self.frames {
            for index in iterators.indices {
                let frame = try #require(try await iterators[index].next())
                #expect(Frame(frame) == expected[number], "iteration \(index), frame \(number)")
            }
            let size = 20 + number
            let url = origin.url("/other.webp")
            #expect(try await isolated.thumbnail(for: url, resizedTo: .fit(size, size)).width == size)
            // One that decodes, and two that read headers.
            #expect(try helper.processes().workers.count <= 3)
        }
        for index in iterators.indices { #expect(try await iterators[index].next() == nil) }
        #expect(isolated.imageStatistics.crashes == 0)
    }

    @Test func `an iteration that ends early leaves neither a worker's memory nor descriptors behind`() async throws {
        let origin = try origin()
        let isolated = try cache("isolated", decodes: 1, keepsFrames: false)
        func someFrames() async throws {
            for _ in 0..<10 {
                let animation = try await isolated.animation(for: origin.url("/a.webp"))
                var iterator = animation.frames.makeAsyncIterator()
                for _ in 0..<4 { _ = try await iterator.next() }
            }
        }
        try await someFrames()
        let before = try (descriptorsOfWorkers(), helper.processes().all.count)
        try await someFrames()
        #expect(await eventually { (try? descriptorsOfWorkers()) ?? .max <= before.0 })
        #expect(try helper.processes().all.count <= before.1)
    }

    @Test func `frames and images in memory take no descriptors`() async throws {
        let origin = try origin()
        let isolated = try cache("isolated")
        let animation = try await isolated.animation(for: origin.url("/a.webp"))
        var iterator = animation.frames.makeAsyncIterator()
        _ = try await iterator.next()
        let shared = {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
            }.count { $0.contains("memfd") }
        }
        _ = try await all(animation)
        for side in 70..<90 { _ = try await isolated.image(for: origin.url("/a.webp"), resizedTo: .fit(side, side)) }
        #expect(try #require(isolated.imageStatistics.memory).entries >= Self.frames + 20)
        // Kept rows have one each, which goes to workers again; images of other tests come and go.
        #expect(try shared() < 20)
    }

    @Test func `a task that is cancelled in the middle of a frame stops its worker`() async throws {
        let origin = try origin("loop 3")
        let log = RecordedLines()
        let isolated = try cache("isolated", log: log)
        let animation = try await isolated.animation(for: origin.url("/a.webp"))
        let task = Task { try await all(animation) }
        let busy = Locked<pid_t?>(nil)
        #expect(
            await eventually {
                let found = (try? helper.processes().workers)?.first { DecoderProcesses.seconds(of: $0) > 0.3 }
                busy.withLock { $0 = found }
                return found != nil
            })
        task.cancel()
        let error = await #expect(throws: ImageCacheError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        let worker = busy.withLock { $0 } ?? 0
        #expect(await eventually { DecoderProcesses.parent(of: worker) == nil })
        #expect(log.all.count { $0.contains("broke its decoder") } == 0, "\(log.all)")
    }

    @Test func `damaged animations end as they do without isolation`() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../TestAssets/hostile").standardized.path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        let origin = try ScriptedOrigin { request in
            let name = names[Int(request.path.dropFirst()) ?? 0]
            let bytes = (try? Data(contentsOf: URL(filePath: "\(folder)/\(name)"))) ?? Data()
            let fields = [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]
            return [.head(status: 200, fields: fields), .body([UInt8](bytes))]
        }
        let log = RecordedLines()
        let (isolated, plain) = (try cache("isolated", log: log), try cache("plain", isolated: false))
        for (number, name) in names.enumerated() where name.hasSuffix(".gif") || name.hasSuffix(".webp") {
            for allowsTruncated in [false, true] {
                var request = ImageRequest(origin.url("/\(number)"), .fit(64, 64))
                request.decoder.allowTruncated = allowsTruncated
                let (one, other) = (await ending(of: request, isolated), await ending(of: request, plain))
                #expect(one.frames == other.frames && one.error == other.error, "\(name): \(one.error) \(other.error)")
            }
        }
        #expect(log.all.count { $0.contains("broke its decoder") } == 0, "\(log.all)")
    }

    private func ending(of request: ImageRequest, _ cache: DownloadCache) async -> (frames: [Frame], error: String) {
        var frames: [Frame] = []
        do {
            for try await frame in try await cache.animation(for: request).frames { frames.append(Frame(frame)) }
            return (frames, "")
        } catch {
            return (frames, error.message)
        }
    }

    /// Descriptors that the workers have open.
    private func descriptorsOfWorkers() throws -> Int {
        try helper.processes().workers.reduce(0) { count, worker in
            count + ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker)/fd").count) ?? 0)
        }
    }
}
