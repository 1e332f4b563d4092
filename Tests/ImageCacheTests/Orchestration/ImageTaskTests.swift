import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

@Suite struct ImageTaskTests {
    /// A PNG, noise, so that its download has a middle.
    private static func picture() throws -> [UInt8] {
        let noise = ScriptedRepresentation.bytes(256 * 256 * 4)
        let image = try DecodedImage(width: 256, height: 256) { pixels in
            for index in pixels.indices { pixels[index] = index % 4 == 3 ? 255 : noise[index] }
        }
        return try ImageEncoder.png().encode(image)
    }

    private func bench(pausingAt gate: AsyncGate) throws -> Bench {
        let representation = ScriptedRepresentation(try Self.picture())
        return try Bench { representation.response(to: $0).pausing(after: 50_000, for: gate) }
    }

    @Test(.timeLimit)
    func `an image task reports the progress of its original and ends with the image`() async throws {
        let gate = AsyncGate()
        let bench = try bench(pausingAt: gate)
        let task = bench.cache.imageTask(for: Bench.url, resizedTo: .fit(64, 64))
        var middle: Int64 = 0
        for await progress in task.progress {
            if progress.received > 0, middle == 0 {
                middle = progress.received
                gate.open()
            }
        }
        #expect(middle > 0)
        let image = try await task.image
        #expect(image.image.width == 64 && image.source == .original(.network))
        let again = bench.cache.imageTask(for: Bench.url, resizedTo: .fit(64, 64))
        for await _ in again.progress { Issue.record("an image in memory has no progress") }
        #expect(try await again.image.source == .memory)
    }

    @Test(.timeLimit)
    func `raising an image task's priority raises its transfer's`() async throws {
        let gate = AsyncGate()
        let bench = try bench(pausingAt: gate)
        var request = ImageRequest(Bench.url, .fit(64, 64))
        request.file.priority = .background
        let task = bench.cache.imageTask(for: request)
        await bench.transport.requests { $0.first?.priority == .background }
        task.priority = .high
        await bench.transport.requests { $0.first?.priority == .high }
        #expect(task.priority == .high)
        task.priority = .normal
        #expect(task.priority == .high)
        gate.open()
        #expect(try await task.image.image.width == 64)
    }

    @Test(.timeLimit)
    func `cancelling one image task does not cancel another, and the last one ends the transfer`() async throws {
        let gate = AsyncGate()
        let bench = try bench(pausingAt: gate)
        let one = bench.cache.imageTask(for: Bench.url, resizedTo: .fit(64, 64))
        let other = bench.cache.imageTask(for: Bench.url, resizedTo: .fit(64, 64))
        await bench.transport.requests { $0.count == 1 }
        one.cancel()
        let error = await #expect(throws: ImageCacheError.self) { try await one.image }
        #expect(error?.code == .cancelled)
        gate.open()
        #expect(try await other.image.image.width == 64)
        #expect(bench.transport.requests.count == 1)
    }

    @Test(.timeLimit)
    func `releasing the last image task ends its transfer`() async throws {
        let gate = AsyncGate()
        let bench = try bench(pausingAt: gate)
        var task: ImageTask? = bench.cache.imageTask(for: Bench.url, resizedTo: .fit(64, 64))
        await bench.transport.requests { $0.count == 1 }
        #expect(task?.request.file.url == Bench.url)
        task = nil
        let ended = await bench.transport.requests { $0.first?.ending != nil }
        #expect(ended.first?.ending == .failed(.cancelled))
    }

    @Test func `an image task for an invalid request fails at once`() async throws {
        let bench = try bench(pausingAt: AsyncGate())
        var request = ImageRequest(Bench.url)
        request.file.method = .post
        let task = bench.cache.imageTask(for: request)
        let error = await #expect(throws: ImageCacheError.self) { try await task.image }
        #expect(error?.code == .invalidRequest)
    }
}
