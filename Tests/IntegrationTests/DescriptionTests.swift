import Foundation
import ImageCache
import TestSupport
import Testing

/// The properties and placeholders of images, by the library and by `imgcache info FILE`.
@Suite(.fewAtATime) struct DescriptionTests {
    private let directory: TestDirectory
    private let picture: DecodedImage
    private let bytes: [UInt8]

    init() throws {
        directory = try TestDirectory()
        picture = try DecodedImage(width: 60, height: 90) { memory in
            for index in 0..<(60 * 90) {
                memory[index * 4] = UInt8(index % 60 * 4)
                memory[index * 4 + 2] = UInt8(index / 60 * 2)
                memory[index * 4 + 3] = 255
            }
        }
        bytes = try ImageEncoder.png().encode(picture)
    }

    @Test func `the library keeps the description of an original`() async throws {
        let origin = try ScriptedOrigin { [bytes] _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=60")]),
                .body(bytes),
            ]
        }
        let cache = try DownloadCache(directory: directory.path("cache"))
        let first = try await cache.info(for: ImageRequest(origin.url("/a.png"), .fit(3, 3)))
        #expect((first.width, first.height, first.format, first.frames) == (60, 90, "PNG", 1))
        #expect(try first.thumbHash == picture.thumbHash && first.blurHash == picture.blurHash)
        #expect(try first.dominantColor == picture.dominantColor && first.fileSize == bytes.count)
        #expect(try await cache.info(for: ImageRequest(origin.url("/a.png"))) == first)
        #expect(cache.imageStatistics.decodes == 1 && origin.requests.count == 1)
    }

    @Test func `info shows an image file in words and as JSON, and refuses other files`() async throws {
        let work = try TestWorkspace()
        try Data(bytes).write(to: URL(fileURLWithPath: work.output("a.png")))
        try Data("text".utf8).write(to: URL(fileURLWithPath: work.output("b.txt")))
        let words = try await work.run("info", "a.png")
        #expect(words.ending == .exited(0), "\(words)")
        let thumbHash = Data(try picture.thumbHash).base64EncodedString()
        for text in ["60 × 90", "PNG", thumbHash, try picture.blurHash, "sRGB"] {
            #expect(words.output.contains(text), "\(text): \(words)")
        }
        let json = try await work.run("info", "--json", "a.png")
        #expect(json.objects.first?["thumbhash"] as? String == thumbHash, "\(json)")
        #expect(json.objects.first?["width"] as? Int == 60)
        let none = try await work.run("info", "b.txt")
        #expect(none.ending == .exited(5) && none.errorOutput.contains("b.txt"), "\(none)")
    }

    @Test(arguments: [("heif/pillow-heif__three.heic", "HEIF"), ("jxl/gen__orientation_6.jxl", "JPEG XL")])
    func `info shows a file that is read in a worker process, and a stored one`(
        asset: String, format: String
    ) async throws {
        let size = format == "HEIF" ? "64 × 64" : "24 × 16"
        let place = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../TestAssets/\(asset)")
        let file = [UInt8](try Data(contentsOf: place))
        let work = try TestWorkspace()
        try Data(file).write(to: URL(fileURLWithPath: work.output("a.image")))
        let words = try await work.run("info", "a.image")
        #expect(words.ending == .exited(0), "\(words)")
        for text in [size, format, "thumbhash"] { #expect(words.output.contains(text), "\(text): \(words)") }
        let origin = try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(file.count)"), ("Cache-Control", "max-age=60")]),
                .body(file),
            ]
        }
        #expect(try await work.run("fetch", origin.url("/a.image")).ending == .exited(0))
        let stored = try await work.run("info", origin.url("/a.image"))
        #expect(stored.output.contains("\(format) \(size)"), "\(stored)")
    }
}
