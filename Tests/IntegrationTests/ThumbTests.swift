import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// `imgcache thumb`, `show`, and the output of `info` for images.
@Suite(.fewAtATime) struct ThumbTests {
    private let work: TestWorkspace
    private let jpeg: [UInt8]

    init() throws {
        work = try TestWorkspace()
        let image = try DecodedImage(width: 400, height: 300) { memory in
            for index in 0..<(400 * 300) {
                memory[index * 4] = UInt8(truncatingIfNeeded: index % 400 / 2)
                memory[index * 4 + 1] = UInt8(truncatingIfNeeded: index / 400 / 2)
                memory[index * 4 + 3] = 255
            }
        }
        jpeg = try ImageEncoder.jpeg(quality: 90).encode(image)
    }

    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { [jpeg] request in
            guard request.path.hasSuffix(".jpg") else { return Behaviour.status(404).script(for: request) }
            return [
                .head(
                    status: 200,
                    fields: [
                        ("Date", httpDate(Date())), ("Cache-Control", "max-age=3600"), ("ETag", "\"a\""),
                        ("Content-Length", "\(jpeg.count)"),
                    ]), .body(jpeg),
            ]
        }
    }

    private func info(_ name: String) throws -> ImageInfo { try ImageInfo.read(ImageSource(path: work.output(name))) }

    @Test func `a HEIC file is decoded by a worker process even without --isolate-decoders`() async throws {
        let photo = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../TestAssets/heif/pillow-heif__arrow.heic").standardized.path
        for (name, isolation) in [("a.jpg", []), ("b.jpg", ["--isolate-decoders", "on"])] {
            let outcome = try await work.command.run(["thumb", photo, "-o", name, "--size", "120"] + isolation)
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(try (info(name).width, info(name).height) == (90, 120))
        }
        let shown = try await work.command.run(["show", "--graphics", "blocks", photo])
        #expect(shown.ending == .exited(0), "\(shown)")
    }

    @Test func `a TIFF, a BMP and an icon become thumbnails, and info shows them`() async throws {
        let assets = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../TestAssets")
        for (asset, format) in [
            ("tiff/gen__rgb_lzw.tif", "TIFF"), ("bmp/gen__bits24.bmp", "BMP"), ("ico/gen__png.ico", "ICO"),
        ] {
            let path = assets.appending(path: asset).standardized.path
            let outcome = try await work.command.run(["thumb", path, "-o", "\(format).png", "--size", "10"])
            #expect(outcome.ending == .exited(0), "\(outcome)")
            let made = try info("\(format).png")
            #expect((made.width, made.height) == (10, 7))
            let shown = try await work.command.run(["info", path])
            #expect(shown.ending == .exited(0), "\(shown)")
            for text in ["23 × 17", format, "thumbhash"] { #expect(shown.output.contains(text), "\(text): \(shown)") }
        }
    }

    @Test func `a URL's thumbnail is made once, and comes from the cache afterwards`() async throws {
        let origin = try origin()
        let first = try await work.run("thumb", "--json", origin.url("/a.jpg"), "-o", "t.jpg", "--size", "100")
        #expect(first.ending == .exited(0), "\(first)")
        #expect(first.objects.first?["from"] as? String == "network")
        #expect(try (info("t.jpg").width, info("t.jpg").height) == (100, 75))
        let second = try await work.run("thumb", "--json", origin.url("/a.jpg"), "-o", "t.jpg", "--size", "100")
        #expect(second.objects.first?["from"] as? String == "thumbnail", "\(second)")
        #expect(origin.requests.count == 1)
        let listed = try await work.run("ls")
        #expect(listed.output.contains("(derived: 100 × 100, fit inside, JPEG quality 80)"), "\(listed)")
    }

    @Test func `a thumbnail of a local file makes no cache`() async throws {
        let file = try work.directory.write("", to: "a.jpg")
        try Data(jpeg).write(to: URL(filePath: file))
        let outcome = try await work.run("thumb", file, "-o", "t.png", "--size", "100x50", "--fit", "cover")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(try info("t.png").format == .png)
        #expect(try (info("t.png").width, info("t.png").height) == (100, 50))
        #expect(!FileManager.default.fileExists(atPath: work.cache))
    }

    @Test(arguments: [["-o", "out/a.jpg"], ["-d", "out", "--force"]])
    func `a thumbnail in place of a file has its permissions`(options: [String]) async throws {
        let file = try work.directory.write("", to: "a.jpg")
        try Data(jpeg).write(to: URL(filePath: file))
        try FileManager.default.createDirectory(atPath: work.output("out"), withIntermediateDirectories: true)
        try Data("old".utf8).write(to: URL(filePath: work.output("out/a.jpg")))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: work.output("out/a.jpg"))
        let outcome = try await work.command.run(["thumb", file, "--size", "10"] + options)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(try info("out/a.jpg").width == 10)
        let attributes = try FileManager.default.attributesOfItem(atPath: work.output("out/a.jpg"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `--max-bytes limits the bytes of a thumbnail, and a warning says if it cannot`() async throws {
        let file = try work.directory.write("", to: "a.jpg")
        try Data(jpeg).write(to: URL(filePath: file))
        func make(_ name: String, _ limit: String) async throws -> (size: Int, warning: String) {
            let outcome = try await work.run("thumb", file, "-o", name, "--size", "200", "--max-bytes", limit)
            #expect(outcome.ending == .exited(0), "\(outcome)")
            return (try Data(contentsOf: URL(filePath: work.output(name))).count, outcome.errorOutput)
        }
        let whole = try await make("whole.jpg", "10M")
        let half = try await make("half.jpg", "\(whole.size / 2)")
        #expect(half.size <= whole.size / 2 && half.size > whole.size / 4 && half.warning == "")
        let smallest = try await make("smallest.jpg", "300")
        #expect(smallest.warning.contains("a.jpg: \(smallest.size) bytes are more than --max-bytes"))
        #expect(try await make("lossless.png", "300").warning.contains("more than --max-bytes"))
    }

    @Test func `thumbnails of files, verified files and URLs have the same bytes with worker processes`() async throws {
        let origin = try origin()
        let file = try work.directory.write("", to: "a.jpg")
        try Data(jpeg).write(to: URL(filePath: file))
        let digest = SHA256.hex(of: jpeg)
        for (number, source) in [[file], [file, "--sha256", digest], [origin.url("/a.jpg")]].enumerated() {
            for switched in ["off", "on"] {
                let arguments = [
                    "thumb", "-o", "\(number)-\(switched).webp", "--size", "90", "--isolate-decoders", switched,
                ]
                var command = work.command
                command.cacheDirectory += switched
                let outcome = try await command.run(arguments + source)
                #expect(outcome.ending == .exited(0), "\(outcome)")
            }
            let bytes = try Data(contentsOf: URL(filePath: work.output("\(number)-on.webp")))
            #expect(try bytes == Data(contentsOf: URL(filePath: work.output("\(number)-off.webp"))))
        }
    }

    @Test func `changes of files and URLs are those of the library, under the same key`() async throws {
        let origin = try origin()
        let file = try work.directory.write(jpeg, to: "a.jpg")
        var mark = ImageWatermark(
            try DecodedImage(width: 8, height: 8) { memory in
                for index in 0..<(8 * 8 * 4) { memory[index] = 255 }
            })
        let logo = try work.directory.write(try ImageEncoder.png().encode(mark.image), to: "logo.png")
        let changes = [
            "--size", "100", "--crop", "100x0x200x300", "--rotate", "90", "--brightness", "0.5", "--gray",
            "--watermark", logo, "--wm-position", "top", "--wm-scale", "10", "--wm-opacity", "50", "--padding", "3",
            "--background", "fc0",
        ]
        for (number, source) in [file, origin.url("/a.jpg")].enumerated() {
            for switched in ["off", "on"] {
                var command = work.command
                command.cacheDirectory += switched
                let outcome = try await command.run(
                    ["thumb", source, "-o", "\(number)-\(switched).png", "--isolate-decoders", switched] + changes)
                #expect(outcome.ending == .exited(0), "\(outcome)")
            }
        }
        let color = ImageSizing.Color(red: 255, green: 204, blue: 0)
        (mark.position, mark.scale, mark.opacity) = (.top, 0.1, 0.5)
        var request = ImageRequest(origin.url("/a.jpg"))
        request.processors = [
            .region(.pixels(x: 100, y: 0, width: 200, height: 300)), .orient(.right), .resize(.fit(100, 100)),
            .background(color), .adjust(brightness: 0.5), .grayscale, .watermark(mark), .pad(by: 3, color: color),
        ]
        let cache = try DownloadCache(directory: work.cache + "off")
        let thumbnail = try await cache.thumbnail(for: request, as: .png())
        await cache.close()
        if case .thumbnail = thumbnail.source {} else { Issue.record("another key: \(thumbnail.source)") }
        #expect(thumbnail.width == 106 && thumbnail.width > thumbnail.height)
        for name in ["0-off.png", "0-on.png", "1-off.png", "1-on.png"] {
            #expect(try Data(contentsOf: URL(filePath: work.output(name))) == Data(thumbnail.bytes), "\(name)")
        }
        let image = try ImageDecoder().decode(ImageSource(thumbnail.bytes))
        #expect(image[0, 0] == SIMD4(255, 204, 0, 255))
        let inside = image[20, 40]
        #expect(inside.x == inside.y && inside.y == inside.z && inside.x < 128)
    }

    @Test func `an image is cropped in percent, trimmed, zoomed, mirrored and rounded`() async throws {
        let (blue, green) = (SIMD4<UInt8>(0, 0, 255, 255), SIMD4<UInt8>(0, 255, 0, 255))
        let white = SIMD4<UInt8>(255, 255, 255, 255)
        // The left half is blue, the right one green, within a white border of 20 pixels.
        let original = try DecodedImage(width: 240, height: 140) { memory in
            for y in 0..<140 {
                for x in 0..<240 {
                    let isInside = (20..<220).contains(x) && (20..<120).contains(y)
                    let color = !isInside ? white : x < 120 ? blue : green
                    for channel in 0..<4 { memory[(y * 240 + x) * 4 + channel] = color[channel] }
                }
            }
        }
        let file = try work.directory.write(try ImageEncoder.png().encode(original), to: "a.png")
        func made(_ options: String...) async throws -> DecodedImage {
            let outcome = try await work.command.run(["thumb", file, "-o", "t.png"] + options)
            #expect(outcome.ending == .exited(0), "\(outcome)")
            return try ImageDecoder().decode(ImageSource(path: work.output("t.png")))
        }
        let half = try await made("--crop", "50x0x50x100p")
        #expect((half.width, half.height) == (120, 140) && half[50, 70] == green)
        let trimmed = try await made("--trim", "10", "--flip", "h", "--size", "100")
        #expect((trimmed.width, trimmed.height) == (100, 50) && trimmed[10, 25] == green && trimmed[90, 25] == blue)
        let near = try await made("--zoom", "4", "--fp", "0.25,0.5", "--size", "60")
        #expect(near.width == 60 && near[30, 17] == blue)
        let right = try await made("--fit", "cover", "--size", "40x140", "--fp", "0.8,0.5")
        #expect(right[20, 70] == green)
        let round = try await made("--radius", "max")
        #expect(round[0, 0].w == 0 && round[60, 70] == blue)
    }

    @Test func `a watermark that cannot be read ends the command, with the exit code of its reason`() async throws {
        let file = try work.directory.write(jpeg, to: "a.jpg")
        let text = try work.directory.write("no image", to: "logo.png")
        for (mark, code) in [(work.output("nowhere.png"), 2), (text, 5)] as [(String, Int32)] {
            let outcome = try await work.run("thumb", file, "-o", "t.jpg", "--watermark", mark)
            #expect(outcome.ending == .exited(code) && outcome.errorOutput.contains(mark), "\(outcome)")
        }
        #expect(!FileManager.default.fileExists(atPath: work.output("t.jpg")))
    }

    @Test func `a file that breaks its decoder in a worker process is exit code 5, and the next one is done`()
        async throws
    {
        let (broken, sound) = (try work.directory.write("", to: "a.jpg"), try work.directory.write("", to: "b.jpg"))
        try Data(jpeg + DecoderHelper.mark("address")).write(to: URL(filePath: broken))
        try Data(jpeg).write(to: URL(filePath: sound))
        var command = work.command
        command.environment["IMGCACHE_TEST_DECODER_FAULTS"] = "1"
        let outcome = try await command.run(["thumb", "--isolate-decoders", "on", "-d", "out", broken, sound])
        #expect(outcome.ending == .exited(5), "\(outcome)")
        #expect(outcome.errorOutput.contains("a.jpg: the worker process ended by signal 11"), "\(outcome)")
        #expect(FileManager.default.fileExists(atPath: work.output("out/b.jpg")))
        let shown = try await command.run(["show", "--isolate-decoders", "on", "--graphics", "blocks", broken])
        #expect(shown.ending == .exited(5), "\(shown)")
        let plain = try await command.run(["show", "--graphics", "blocks", sound])
        let isolated = try await command.run(["show", "--isolate-decoders", "on", "--graphics", "blocks", sound])
        #expect(plain.ending == .exited(0) && isolated.outputBytes == plain.outputBytes, "\(isolated)")
    }

    @Test func `several sources go into a folder under their own names, overwritten only with --force`()
        async throws
    {
        let origin = try origin()
        let arguments = ["thumb", "-d", "out", "--format", "webp", origin.url("/a.jpg"), origin.url("/b.jpg")]
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines == ["out/a.webp", "out/b.webp"])
        #expect(try info("out/a.webp").format == .webp)
        #expect(try await work.command.run(arguments).ending == .exited(6))
        #expect(try await work.command.run(arguments + ["--force"]).ending == .exited(0))
    }

    @Test func `a source that is given twice is made once, and its path is printed twice`() async throws {
        let origin = try origin()
        let file = try work.directory.write("", to: "b.jpg")
        try Data(jpeg).write(to: URL(filePath: file))
        let url = origin.url("/a.jpg")
        let outcome = try await work.run("thumb", "-d", "out", url, file, url, file)
        #expect(outcome.ending == .exited(0) && outcome.errorOutput.isEmpty, "\(outcome)")
        #expect(outcome.lines == ["out/a.jpg", "out/b.jpg", "out/a.jpg", "out/b.jpg"])
        let refused = try await work.run("thumb", "-d", "out", file, file)
        #expect(refused.ending == .exited(6) && refused.allLines == ["", ""], "\(refused)")
    }

    @Test func `-o - writes the bytes to standard output, and nothing else`() async throws {
        let file = try work.directory.write("", to: "a.jpg")
        try Data(jpeg).write(to: URL(filePath: file))
        let outcome = try await work.run("thumb", file, "-o", "-", "--size", "10")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.output.utf8.count > 100)
    }

    @Test func `the first failed thumbnail decides the exit code, and the others are made`() async throws {
        let origin = try origin()
        let text = try work.directory.write("no image", to: "text.jpg")
        let outcome = try await work.run("thumb", "-d", "out", text, origin.url("/missing"), origin.url("/a.jpg"))
        #expect(outcome.ending == .exited(5), "\(outcome)")
        #expect(outcome.lines == ["out/a.jpg"])
        #expect(try await work.run("thumb", "-o", "x.jpg", origin.url("/missing")).ending == .exited(4))
        #expect(try await work.run("thumb", "-o", "x.jpg", "nowhere.jpg").ending == .exited(2))
        let wrong = String(repeating: "0", count: 64)
        let file = try work.directory.write("any file", to: "file.jpg")
        let refused = try await work.run("thumb", "-o", "x.jpg", "--sha256", wrong, file)
        #expect(refused.ending == .exited(5) && refused.errorOutput.contains("SHA-256"), "\(refused)")
        #expect(try await work.run("thumb", "-o", "x.jpg", "--offline", origin.url("/b.jpg")).ending == .exited(7))
        #expect(!FileManager.default.fileExists(atPath: work.output("x.jpg")))
    }

    @Test func `damaged data cause a warning, also from the cache, and an error with --strict`()
        async throws
    {
        var damaged = jpeg
        // Left over before the end marker, as after a run of wrong bits.
        damaged.insert(contentsOf: [UInt8](repeating: 0x5A, count: 200), at: damaged.count - 2)
        let file = try work.directory.write("", to: "damaged.jpg")
        try Data(damaged).write(to: URL(filePath: file))
        let origin = try ScriptedOrigin { [damaged] _ in
            [
                .head(
                    status: 200,
                    fields: [
                        ("Cache-Control", "max-age=3600"), ("ETag", "\"d\""), ("Content-Length", "\(damaged.count)"),
                    ]),
                .body(damaged),
            ]
        }
        for source in [file, origin.url("/damaged.jpg"), origin.url("/damaged.jpg")] {
            let shown = try await work.run("thumb", "--json", source, "-o", "t.jpg")
            #expect(shown.ending == .exited(0), "\(shown)")
            #expect(shown.errorOutput.hasPrefix("imgcache: warning: \(source): JPEG: Corrupt JPEG data"), "\(shown)")
            #expect(shown.objects.first?["damage"] as? String != nil)
            let strict = try await work.run("thumb", source, "-o", "strict.jpg", "--strict")
            #expect(strict.ending == .exited(5), "\(strict)")
            #expect(!FileManager.default.fileExists(atPath: work.output("strict.jpg")))
        }
        #expect(origin.requests.count == 1)
        let quiet = try await work.run("thumb", "-q", file, "-o", "t.jpg")
        #expect(quiet.ending == .exited(0) && quiet.errorOutput.isEmpty, "\(quiet)")
        // Cut off, with an end marker behind the cut.
        try Data(jpeg.prefix(jpeg.count / 2) + [0xFF, 0xD9]).write(to: URL(filePath: file))
        let cut = try await work.run("thumb", file, "-o", "cut.jpg")
        #expect(cut.ending == .exited(5) && !FileManager.default.fileExists(atPath: work.output("cut.jpg")), "\(cut)")
    }

    @Test(arguments: [
        ["thumb", "a.jpg"], ["thumb", "-o", "x", "-d", "y", "a.jpg"], ["thumb", "-o", "x", "a.jpg", "b.jpg"],
        ["thumb", "-o", "x", "--size", "0", "a.jpg"], ["thumb", "-o", "x", "--size", "x", "a.jpg"],
        ["thumb", "-o", "x", "--quality", "101", "a.jpg"], ["thumb", "-o", "x", "--fit", "tight", "a.jpg"],
        ["thumb", "-o", "x", "--rotate", "45", "a.jpg"], ["thumb", "-o", "x", "--fp", "0.5,0.5", "a.jpg"],
    ])
    func `a wrong thumb command line causes exit code 2`(arguments: [String]) async throws {
        #expect(try await work.command.run(arguments).ending == .exited(2))
    }

    @Test func `info describes a stored image`() async throws {
        let origin = try origin()
        #expect(try await work.fetch(origin.url("/a.jpg")).ending == .exited(0))
        let outcome = try await work.run("info", origin.url("/a.jpg"))
        #expect(outcome.output.contains("JPEG 400 × 300, 8 bits"), "\(outcome)")
    }

    @Test func `show draws blocks where there is no terminal, in gray when NO_COLOR is set`() async throws {
        let file = try work.directory.write("", to: "a.jpg")
        try Data(jpeg).write(to: URL(filePath: file))
        let outcome = try await work.run("show", "--width", "20", file)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.output.contains("▀"))
        #expect(outcome.lines.count == 8)
        #expect(try await work.run("show", "--graphics", "sixel", file).output.hasPrefix("\u{1B}Pq"))
    }
}
