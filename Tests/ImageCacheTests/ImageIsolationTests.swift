import ConcurrencyPrimitives
import ImageCodec
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

    @Test(arguments: [nil, [.heif], [.jpeg, .jpegXL], []] as [Set<ImageFormat>?], [true, false])
    func `formats of workers only never come to this process, others if there is no helper`(
        formats: Set<ImageFormat>?, isOptional: Bool
    ) throws {
        let directory = try TestDirectory()
        var isolation = DecoderIsolation(helper: directory.path("nothing"))
        (isolation.formats, isolation.isOptional) = (formats, isOptional)
        let images = ImageIsolation(isolation, decodes: 1, memory: 1, logger: RecordedLines().logger)
        let starts: [(ImageFormat, [UInt8])] = [
            (.heif, [0, 0, 0, 16] + Array("ftypheic".utf8) + [0, 0, 0, 0]), (.jpegXL, [0xFF, 0x0A]),
            (.tiff, [0x49, 0x49, 0x2A, 0]), (.jpeg, [0xFF, 0xD8, 0xFF]),
        ]
        for (format, start) in starts {
            let isUsed =
                ImageFormat.inWorkersOnly.contains(format) || !isOptional && formats.map { $0.contains(format) } ?? true
            #expect(images.isUsed(for: format) == isUsed, "\(format)")
            #expect(images.isUsed(for: ImageSource(start)) == isUsed, "\(format)")
        }
        // Of a file that is no image, any process says so.
        let isText = images.isUsed(for: ImageSource(Array("text".utf8)))
        #expect(isText == (formats == nil && !isOptional))
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
