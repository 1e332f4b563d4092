import CacheTestSupport
import ConcurrencyPrimitives
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// The frames of an animated image, one after another.
@Suite struct AnimationFramesTests {
    /// An animation, 40 x 30: frame n has n in red, a gradient in green, and takes n + 1 tenths of a second.
    private static func animation(frames: Int, blue: UInt8 = 0) throws -> [UInt8] {
        let encoder = try AnimationEncoder(.webp(isLossless: true), width: 40, height: 30, loopCount: 3)
        for number in 0..<frames {
            let image = try DecodedImage(width: 40, height: 30) { pixels in
                for index in 0..<40 * 30 {
                    pixels[index * 4] = UInt8(number)
                    pixels[index * 4 + 1] = UInt8(index % 40 * 6)
                    pixels[index * 4 + 2] = blue
                    pixels[index * 4 + 3] = 255
                }
            }
            try encoder.add(image, for: .milliseconds((number + 1) * 100))
        }
        return try encoder.finish()
    }

    private func bench(_ bytes: [UInt8], memory: Int? = nil) throws -> Bench {
        let representation = ScriptedRepresentation(bytes)
        let limits = try memory.map { try MemoryCacheLimits(capacity: $0, preferredUsage: $0) }
        return try Bench {
            if let limits { $0.memory = limits }
        } script: {
            representation.response(to: $0)
        }
    }

    private func all(_ animation: CachedAnimation) async throws -> [AnimationFrame] {
        var frames: [AnimationFrame] = []
        for try await frame in animation.frames { frames.append(frame) }
        return frames
    }

    private func reds(_ frames: [AnimationFrame]) -> [UInt8] { frames.map { $0.image[0, 0].x } }

    private func pixels(_ frames: [AnimationFrame]) -> [[UInt8]] {
        frames.map { $0.image.withUnsafeBytes { Array($0) } }
    }

    @Test(.timeLimit)
    func `frames come in order with their times, and count in memory by their pixels`() async throws {
        let bench = try bench(try Self.animation(frames: 5))
        let animation = try await bench.cache.animation(for: Bench.url, resizedTo: .fit(20, 20))
        #expect(animation.frameCount == 5 && animation.loopCount == 3 && animation.duration == .milliseconds(1500))
        #expect(animation.source == .network)
        let frames = try await all(animation)
        #expect(reds(frames) == [0, 1, 2, 3, 4])
        #expect(frames.map(\.duration) == (1...5).map { .milliseconds($0 * 100) })
        #expect(frames.allSatisfy { $0.image.width == 20 && $0.image.height == 15 })
        let memory = try #require(bench.cache.imageStatistics.memory)
        #expect(memory.bytes == 5 * 20 * 15 * 4 && memory.entries == 5)
    }

    @Test(.timeLimit)
    func `frames in memory are not decoded again, in another iteration or for another caller`() async throws {
        let bench = try bench(try Self.animation(frames: 5))
        let animation = try await bench.cache.animation(for: Bench.url, resizedTo: .fit(20, 20))
        let first = try await all(animation)
        #expect(bench.cache.imageStatistics.decodes == 1)
        #expect(pixels(try await all(animation)) == pixels(first))
        let again = try await bench.cache.animation(for: Bench.url, resizedTo: .fit(20, 20))
        #expect(again.source == .disk)
        #expect(pixels(try await all(again)) == pixels(first))
        #expect(bench.cache.imageStatistics.decodes == 1 && bench.transport.requests.count == 1)
        // Another size is another decode.
        _ = try await all(try await bench.cache.animation(for: Bench.url, resizedTo: .fit(10, 10)))
        #expect(bench.cache.imageStatistics.decodes == 2)
    }

    @Test(.timeLimit)
    func `frames that do not fit into memory are dropped oldest first and decoded again`() async throws {
        let bench = try bench(try Self.animation(frames: 6), memory: 3 * 40 * 30 * 4)
        let animation = try await bench.cache.animation(for: Bench.url)
        #expect(reds(try await all(animation)) == [0, 1, 2, 3, 4, 5])
        let memory = try #require(bench.cache.imageStatistics.memory)
        #expect(memory.bytes == 3 * 40 * 30 * 4 && memory.entries == 3)
        #expect(reds(try await all(animation)) == [0, 1, 2, 3, 4, 5])
        #expect(bench.cache.imageStatistics.decodes == 2)
        #expect(try #require(bench.cache.imageStatistics.memory).bytes <= 3 * 40 * 30 * 4)
    }

    @Test(.timeLimit, arguments: [ImageSizing.fit(20, 20), .cover(12, 12, position: .attention)])
    func `an iteration that finds the first frames in memory decodes the rest`(_ sizing: ImageSizing) async throws {
        let bytes = try Self.animation(frames: 5)
        let whole = try bench(bytes)
        let expected = try await all(try await whole.cache.animation(for: Bench.url, resizedTo: sizing))
        let bench = try bench(bytes)
        let animation = try await bench.cache.animation(for: Bench.url, resizedTo: sizing)
        var iterator = animation.frames.makeAsyncIterator()
        _ = try await iterator.next()
        _ = try await iterator.next()
        let frames = try await all(animation)
        #expect(pixels(frames) == pixels(expected))
        #expect(bench.cache.imageStatistics.decodes == 2)
    }

    @Test(.timeLimit)
    func `all frames come from one file, even if the origin has a newer one`() async throws {
        let old = ScriptedRepresentation(try Self.animation(frames: 4))
        let new = ScriptedRepresentation(try Self.animation(frames: 4, blue: 99))
        let isNew = Locked(false)
        let bench = try Bench { request in
            (isNew.withLock { $0 } ? new : old).response(to: request)
        }
        let animation = try await bench.cache.animation(for: Bench.url)
        var iterator = animation.frames.makeAsyncIterator()
        #expect(try await iterator.next()?.image[0, 0].z == 0)
        isNew.withLock { $0 = true }
        _ = try await bench.cache.remove(.url(Bench.url))
        let other = try await all(try await bench.cache.animation(for: Bench.url))
        #expect(other.count == 4 && other.allSatisfy { $0.image[0, 0].z == 99 })
        for number in 1..<4 {
            #expect(try await iterator.next()?.image[0, 0] == SIMD4(UInt8(number), 0, 0, 255))
        }
        #expect(try await iterator.next() == nil)
    }

    @Test(.timeLimit)
    func `a still image has one frame`() async throws {
        let image = try DecodedImage(width: 8, height: 8) { pixels in
            for index in pixels.indices { pixels[index] = 255 }
        }
        let bench = try bench(try ImageEncoder.png().encode(image))
        let animation = try await bench.cache.animation(for: Bench.url, resizedTo: .fit(4, 4))
        #expect(animation.frameCount == 1 && animation.loopCount == 1 && animation.duration == .zero)
        let frames = try await all(animation)
        #expect(frames.count == 1 && frames[0].image.width == 4 && frames[0].duration == .zero)
    }

    @Test(.timeLimit)
    func `effects apply to each frame`() async throws {
        let bench = try bench(try Self.animation(frames: 3))
        var request = ImageRequest(Bench.url)
        request.processors = [
            ImageProcessor(identity: "red") { (image) throws(ImageCodecError) in
                try DecodedImage(width: 1, height: 1) { pixels in
                    (pixels[0], pixels[3]) = (image[0, 0].x + 100, 255)
                }
            }
        ]
        #expect(reds(try await all(try await bench.cache.animation(for: request))) == [100, 101, 102])
    }

    @Test(.timeLimit)
    func `limits hold for all frames together, before the first one`() async throws {
        let bench = try bench(try Self.animation(frames: 5))
        var request = ImageRequest(Bench.url)
        request.decoder.limits.frames = 4
        let few = request
        let error = await #expect(throws: ImageCacheError.self) { try await bench.cache.animation(for: few) }
        #expect(error?.code == .undecodable(.limitExceeded) && error?.url == Bench.url)
        #expect(bench.cache.imageStatistics.decodes == 0)
    }

    @Test(.timeLimit)
    func `a cancelled task gets no further frame`() async throws {
        let bench = try bench(try Self.animation(frames: 5))
        let animation = try await bench.cache.animation(for: Bench.url)
        let gate = AsyncGate()
        let task = Task {
            var iterator = animation.frames.makeAsyncIterator()
            _ = try await iterator.next()
            await gate.wait()
            return try await iterator.next()
        }
        task.cancel()
        gate.open()
        let error = await #expect(throws: ImageCacheError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(reds(try await all(animation)) == [0, 1, 2, 3, 4])
    }

    @Test(.timeLimit)
    func `a removed file's frames leave the memory`() async throws {
        let bench = try bench(try Self.animation(frames: 3))
        _ = try await all(try await bench.cache.animation(for: Bench.url))
        _ = try await bench.cache.remove(.url(Bench.url))
        #expect(try #require(bench.cache.imageStatistics.memory).entries == 0)
    }
}
