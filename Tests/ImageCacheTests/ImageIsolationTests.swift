import ConcurrencyPrimitives
import TestSupport
import Testing

@testable import ImageCache

/// A helper that cannot be started.
struct ImageIsolationTests {
    @Test func `a failed isolation is tried again after a pause, and each reason is logged once`() throws {
        let directory = try TestDirectory()
        let helper = directory.path("helper")
        var isolation = DecoderIsolation(helper: helper)
        isolation.isOptional = true
        let lines = RecordedLines()
        let time = Locked(ContinuousClock.now)
        let images = ImageIsolation(isolation, decodes: 1, memory: 1, logger: lines.logger) { time.withLock { $0 } }
        let first = try #require(images.start())
        #expect(!images.isUsed(for: .jpeg) && lines.all.count == 1)
        // Another reason by now.
        try directory.write("no program", to: "helper")
        #expect(images.start() == first && lines.all.count == 1)
        time.withLock { $0 += ImageIsolation.pause }
        let second = try #require(images.start())
        #expect(second != first && lines.all.count == 2)
        time.withLock { $0 += ImageIsolation.pause }
        #expect(images.start() == second && lines.all.count == 2)
    }

    @Test(arguments: [0, 1, Int.max], [0, 1, Int.max])
    func `any number of decodes, and any memory, makes workers possible`(decodes: Int, memory: Int) throws {
        let directory = try TestDirectory()
        let isolation = DecoderIsolation(helper: directory.path("nothing"))
        let images = ImageIsolation(isolation, decodes: decodes, memory: memory, logger: RecordedLines().logger)
        #expect(images.start()?.contains("nothing") == true)
    }

    @Test(arguments: [(0, 1 << 20), (1, 1 << 20 + 1), (448 << 20, 449 << 20), (.max, .max)] as [(Int, Int)])
    func `an answer may have the decoder's memory and a mebibyte`(memory: Int, most: Int) {
        var limits = DecodingLimits()
        limits.memory = memory
        #expect(ImageIsolation.largestAnswer(within: limits) == most)
    }
}
