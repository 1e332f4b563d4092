import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// `imgcache thumb` on animations.
@Suite(.fewAtATime) struct AnimatedThumbTests {
    private let work: TestWorkspace
    private static let gif = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../TestAssets/gif/Pillow__dispose_prev.gif").standardized.path

    init() throws { work = try TestWorkspace() }

    private func frames(_ name: String) throws -> Int {
        try ImageInfo.read(ImageSource(path: work.output(name))).frames
    }

    @Test func `an animated file stays animated in WebP and GIF, unless a still is asked for`() async throws {
        let table: [(String, [String], Int)] = [
            ("a.webp", [], 5), ("b.webp", ["--anim"], 5), ("c.webp", ["--no-anim"], 1),
            ("d.webp", ["--frame", "0"], 1),
            ("e.png", [], 1), ("f.webp", ["--lossless"], 5),
            ("g.gif", [], 5), ("h.gif", ["--no-anim"], 1), ("i.gif", ["--colors", "16", "--no-dither"], 5),
            ("j.gif", ["--frame", "2"], 1), ("k.webp", ["--rotate", "90", "--gray"], 5),
            // Its frames would differ in size.
            ("l.webp", ["--trim", "0"], 1),
        ]
        for (name, options, count) in table {
            let outcome = try await work.command.run(["thumb", Self.gif, "-o", name, "--size", "50"] + options)
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(try frames(name) == count, "\(name)")
        }
    }

    @Test func `the thumbnail of a URL is also cached animated, next to the still one`() async throws {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: Self.gif)))
        let origin = try ScriptedOrigin { _ in
            [
                .head(
                    status: 200,
                    fields: [
                        ("Date", httpDate(Date())), ("Cache-Control", "max-age=3600"), ("ETag", "\"a\""),
                        ("Content-Length", "\(bytes.count)"),
                    ]), .body(bytes),
            ]
        }
        let arguments = ["thumb", "--json", origin.url("/a.gif"), "-o", "t.webp", "--size", "50"]
        for from in ["network", "thumbnail"] {
            let outcome = try await work.command.run(arguments)
            #expect(outcome.objects.first?["from"] as? String == from, "\(outcome)")
            #expect(try frames("t.webp") == 5)
        }
        let still = try await work.command.run(arguments + ["--no-anim"])
        #expect(still.objects.first?["from"] as? String == "fresh", "\(still)")
        #expect(try frames("t.webp") == 1)
        #expect(origin.requests.count == 1)
    }
}
