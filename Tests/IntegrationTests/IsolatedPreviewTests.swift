import ConcurrencyPrimitives
import Foundation
import Glibc
import ImageCache
import TestSupport
import Testing

/// Previews of images that are arriving, from worker processes of the command.
@Suite(.fewAtATime) struct IsolatedPreviewTests {
    private let directory: TestDirectory
    private let helper: DecoderHelper

    init() throws {
        directory = try TestDirectory()
        helper = try DecoderHelper(in: directory)
    }

    /// A progressive JPEG of 1600 × 1200 and more than a megabyte.
    private static let picture: [UInt8] = {
        let (width, height) = (1600, 1200)
        var generator = SeededGenerator(for: "previews")
        let noise = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let image = try? DecodedImage(width: width, height: height) { memory in
            for index in 0..<(width * height * 4) { memory[index] = index % 4 == 3 ? 255 : noise[(index * 7) % 4096] }
        }
        var options = ImageEncoder.JPEGOptions(quality: 90)
        options.isProgressive = true
        return image.flatMap { try? ImageEncoder(.jpeg(options)).encode($0) } ?? []
    }()

    /// Sends the second half when the gate opens.
    private func origin(_ gate: Gate) throws -> ScriptedOrigin {
        let (bytes, half) = (Self.picture, Self.picture.count / 2)
        return try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=60")]),
                .body(Array(bytes[..<half])), .wait(for: gate), .body(Array(bytes[half...])),
            ]
        }
    }

    private func cache(_ name: String, _ isolation: DecoderIsolation?) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.decoderIsolation = isolation
        return try DownloadCache(directory: directory.path(name), configuration: configuration)
    }

    /// The previews, of which the first lets the second half come.
    private func previews(
        _ name: String, _ isolation: DecoderIsolation?, between: () throws -> Void = {}
    ) async throws -> [(isFinal: Bool, pixels: [UInt8])] {
        let gate = Gate()
        let origin = try origin(gate)
        let cache = try cache(name, isolation)
        var request = ImageRequest(origin.url("/p.jpg"), .fit(200, 200))
        request.processors = [
            .grayscale,
            ImageProcessor(identity: "upper left") { (image) throws(ImageCodecError) in
                try DecodedImage(width: 2, height: 1) { pixels in
                    for x in 0..<2 { (0..<4).forEach { pixels[x * 4 + $0] = image[x, 0][$0] } }
                }
            },
        ]
        var previews: [(isFinal: Bool, pixels: [UInt8])] = []
        for try await preview in cache.previews(for: request, every: .zero) {
            previews.append((preview.isFinal, preview.image.withUnsafeBytes { Array($0) }))
            try between()
            gate.open()
        }
        return previews
    }

    @Test func `workers decode previews and the final image, even after one was killed`() async throws {
        let workers = DecoderIsolation(helper: helper.path)
        let all = try await previews("isolated", workers)
        #expect(all.count >= 2, "\(all.count)")
        #expect(all.last?.isFinal == true && all.dropLast().allSatisfy { !$0.isFinal })
        let plain = try await previews("plain", nil)
        #expect(plain.last?.pixels == all.last?.pixels)
        let killed = try await previews("killed", workers) {
            for worker in try helper.processes().workers { kill(worker, SIGKILL) }
        }
        #expect(killed.count >= 2 && killed.last?.pixels == all.last?.pixels)
    }
}
