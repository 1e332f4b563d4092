import ConcurrencyPrimitives
import Foundation
import Glibc
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// Images that break their decoders: the service decodes in processes of their own.
@Suite(.fewAtATime(limit: .seconds(300))) struct DecoderIsolationTests {
    /// Serves `/fault-header/NAME`, `/fault-pixels/NAME`, and the picture under every other path.
    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            let bytes = Self.file(request.path)
            let fields = [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]
            return [.head(status: 200, fields: fields), .body(bytes)]
        }
    }

    private static func file(_ path: String) -> [UInt8] {
        let parts = path.split(separator: "/")
        guard parts.count == 2 else { return GradientPicture.bytes }
        let mark = DecoderHelper.mark(String(parts[1]))
        return switch parts[0] {
        case "fault-header": mark
        case "fault-pixels": GradientPicture.bytes + mark
        default: GradientPicture.bytes
        }
    }

    private func server(_ origin: ScriptedOrigin, _ options: String...) async throws -> ServerProcess {
        try await ServerProcess(
            origin: origin.url(""), environment: ["IMGCACHE_TEST_DECODER_FAULTS": "1"], leading: options)
    }

    @Test(arguments: ["header", "pixels"], ["address", "loop", "memory", "closed", "open", "code", "abort", "file"])
    func `a file that breaks its decoder is answered with 422 and logged, and other requests succeed`(
        step: String, fault: String
    ) async throws {
        let origin = try origin()
        // Only the loop is to reach it: a busy machine counts what allocating costs, too.
        let server = try await server(
            origin, "--image-timeout", fault == "loop" ? "1s" : "1min", "--negative-ttl", "0")
        let client = try Client(server.port)
        let path = "/fault-\(step)/\(fault)"
        #expect(client.get("/image/w=64/picture")?.status == 200)
        let before = notices(of: server).count
        for _ in 0..<2 {
            let answer = try #require(client.get("/image/w=64\(path)"))
            #expect(answer.status == 422, "\(answer.text)")
            #expect(answer.text.contains(fault == "loop" ? "image-too-large" : "image-crashed"), "\(answer.text)")
        }
        for width in 1...8 { #expect(client.get("/image/w=\(width)/other")?.status == 200) }
        let lines = server.process.errorOutput.split(separator: "\n").filter { $0.contains("broke its decoder") }
        #expect(lines.count == 2, "\(server.process.errorOutput)")
        #expect(lines.allSatisfy { $0.contains(SHA256.hex(of: Self.file(path))) }, "\(lines)")
        #expect(notices(of: server).count == before + 2, "\(server.process.errorOutput)")
    }

    /// The lines of the log at level notice or above. Memory pressure on the machine during the test is logged at level info.
    private func notices(of server: ServerProcess) -> [Substring] {
        server.process.errorOutput.split(separator: "\n").filter { !$0.contains("Z info: ") }
    }

    @Test func `a forbidden system call is named`() async throws {
        let origin = try origin()
        let server = try await server(origin)
        #expect(try Client(server.port).get("/image/w=64/fault-pixels/open")?.status == 422)
        #expect(server.process.errorOutput.contains("forbidden system call"), "\(server.process.errorOutput)")
    }

    @Test func `images have the same bytes with and without isolation`() async throws {
        let origin = try origin()
        let (isolated, plain) = (try await server(origin), try await server(origin, "--isolate-decoders", "off"))
        #expect(try processes(of: isolated).helpers.count == 1)
        #expect(try processes(of: plain).helpers.isEmpty)
        for options in [
            "w=100", "w=64,h=64,fit=cover,position=auto", "w=100,f=webp", "w=200,f=avif", "w=80,h=60,f=png,blur=2",
            "h=60,radius=9,f=webp", "w=120,f=gif", "h=60,radius=9,f=gif", "w=50,trim=10,f=png",
            "w=30,format=thumbhash", "format=blurhash", "format=color", "f=png,w=640",
        ] {
            let one = try Client(isolated.port).get("/image/\(options)/picture")
            let other = try Client(plain.port).get("/image/\(options)/picture")
            #expect(one?.status == 200 && one?.body == other?.body, "\(options): \(one?.text ?? "")")
        }
        let (one, other) = (
            try Client(isolated.port).get("/image/info/picture"), try Client(plain.port).get("/image/info/picture")
        )
        #expect(one?.status == 200 && one?.body == other?.body, "\(one?.text ?? "")")
    }

    @Test func `hostile files have the same statuses as without isolation`() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../TestAssets/hostile").standardized.path
        let origin = try ScriptedOrigin { request in
            let bytes = (try? Data(contentsOf: URL(filePath: "\(folder)/\(request.path.dropFirst())"))) ?? Data()
            let fields = [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]
            return [.head(status: 200, fields: fields), .body([UInt8](bytes))]
        }
        let (isolated, plain) = (try await server(origin), try await server(origin, "--isolate-decoders", "off"))
        // HEIF and JPEG XL are decoded in workers only.
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
            !$0.hasSuffix(".heic") && !$0.hasSuffix(".jxl")
        }
        for name in names.sorted() {
            let path = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["_", ".", "-"])) ?? name
            let one = try #require(try Client(isolated.port).get("/image/w=64,h=64,f=webp/\(path)"), "\(name)")
            let other = try #require(try Client(plain.port).get("/image/w=64,h=64,f=webp/\(path)"), "\(name)")
            #expect(one.status == other.status && one.body == other.body, "\(name): \(one.text) \(other.text)")
        }
        #expect(!isolated.process.errorOutput.contains("broke its decoder"), "\(isolated.process.errorOutput)")
    }

    @Test(
        arguments: [("heif/pillow-heif__arrow.heic", 90, 120), ("jxl/gen__jpeg.jxl", 90, 90)] as [(String, Int, Int)])
    func `a HEIC photo and a JPEG XL become a format that the client accepts, and are refused without workers`(
        file: String, width: Int, height: Int
    ) async throws {
        let photo = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../TestAssets/\(file)").standardized
        let bytes = try [UInt8](Data(contentsOf: photo))
        let origin = try ScriptedOrigin { _ in
            [
                .head(
                    status: 200, fields: [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]),
                .body(bytes),
            ]
        }
        let (isolated, plain) = (try await server(origin), try await server(origin, "--isolate-decoders", "off"))
        let client = try Client(isolated.port)
        for (options, accept, type) in [
            ("w=90", "*/*", "image/jpeg"), ("w=90", "image/webp,*/*", "image/webp"),
            ("w=90,f=png", "*/*", "image/png"),
        ] {
            let answer = try #require(client.get("/image/\(options)/photo", "Accept: \(accept)"))
            #expect(answer.status == 200 && answer["Content-Type"] == type, "\(answer.text)")
            let info = try ImageInfo.read(ImageSource(answer.body))
            #expect((info.width, info.height) == (width, height))
        }
        for path in ["/image/info/photo", "/image/f=thumbhash/photo"] {
            #expect(client.get(path)?.status == 200, "\(path)")
        }
        let refused = try #require(try Client(plain.port).get("/image/w=90/photo"))
        #expect(refused.status == 415 && refused.text.contains("unsupported-format"), "\(refused.text)")
        #expect(refused.text.contains("is decoded in worker processes only"), "\(refused.text)")
    }

    @Test func `a TIFF, a BMP and an icon become a format that the client accepts, and TIFF needs workers`()
        async throws
    {
        let assets = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../TestAssets").standardized
        let origin = try ScriptedOrigin { request in
            let bytes = (try? Data(contentsOf: assets.appending(path: String(request.path.dropFirst())))) ?? Data()
            let fields = [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]
            return [.head(status: 200, fields: fields), .body([UInt8](bytes))]
        }
        let (isolated, plain) = (try await server(origin), try await server(origin, "--isolate-decoders", "off"))
        for (path, type) in [
            ("tiff/gen__orientation6.tif", "image/jpeg"), ("tiff/gen__cmyk.tif", "image/jpeg"),
            ("tiff/gen__rgba_planes.tif", "image/png"), ("tiff/gen__ycbcr_jpeg.tif", "image/jpeg"),
            ("tiff/gen__bilevel_fax4.tif", "image/jpeg"), ("bmp/gen__rle8.bmp", "image/jpeg"),
            ("bmp/gen__bits32_alpha_v5.bmp", "image/png"), ("ico/gen__several.ico", "image/png"),
            ("ico/gen__cursor.cur", "image/png"),
        ] {
            for (accept, expected) in [("*/*", type), ("image/webp,*/*", "image/webp")] {
                let answer = try #require(
                    try Client(isolated.port).get("/image/w=10/\(path)", "Accept: \(accept)"), "\(path)")
                #expect(answer.status == 200 && answer["Content-Type"] == expected, "\(path): \(answer.text)")
                let info = try ImageInfo.read(ImageSource(answer.body))
                #expect((info.width, info.height) == (10, 7), "\(path)")
            }
            let described = try #require(try Client(isolated.port).get("/image/info/\(path)"), "\(path)")
            #expect(described.status == 200, "\(path): \(described.text)")
            let other = try #require(try Client(plain.port).get("/image/w=10/\(path)"), "\(path)")
            #expect(other.status == (path.hasPrefix("tiff") ? 415 : 200), "\(path): \(other.text)")
        }
        #expect(!isolated.process.errorOutput.contains("broke its decoder"), "\(isolated.process.errorOutput)")
    }

    @Test func `killed workers and helpers are replaced without a failed response`() async throws {
        let origin = try origin()
        let server = try await server(origin)
        let port = server.port
        let wrong = Locked<[String]>([])
        let isOver = Locked(false)
        /// The number of answers of each client.
        let answers = Locked([0, 0, 0, 0])
        let loads = (0..<4).map { number in
            Task {
                try? await onThreadOfItsOwn {
                    var count = 0
                    while !isOver.withLock({ $0 }) {
                        count += 1
                        let answer = try? Client(port).get("/image/w=\(100 + count % 400),f=webp/\(number)-\(count)")
                        if answer?.status != 200 { wrong.withLock { $0.append(answer?.text ?? "nothing") } }
                        answers.withLock { $0[number] += 1 }
                    }
                }
            }
        }
        for round in 0..<20 {
            let all = try processes(of: server)
            if let helper = all.helpers.first { kill(round % 4 == 3 ? helper : all.workers.first ?? helper, SIGKILL) }
            // Work whose worker is killed again and again is given up: each client gets further in between.
            let before = answers.withLock { $0 }
            #expect(await eventually { zip(before, answers.withLock { $0 }).allSatisfy { $0 < $1 } })
        }
        isOver.withLock { $0 = true }
        for load in loads { await load.value }
        #expect(wrong.withLock { $0 } == [], "\(server.log.filter { $0["status"] as? Int != 200 })")
        #expect(try Client(port).get("/image/w=64/last")?.status == 200)
    }

    @Test func `broken images leave neither descriptors nor processes behind`() async throws {
        let origin = try origin()
        let server = try await server(origin, "--negative-ttl", "0")
        let descriptors = {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(server.process.pid)/fd").count
        }
        let client = try Client(server.port)
        func breakSome() throws {
            for number in 0..<20 {
                #expect(client.get("/image/w=64/fault-\(number % 2 == 0 ? "header" : "pixels")/address")?.status == 422)
                #expect(client.get("/image/w=\(number + 1)/picture")?.status == 200)
            }
        }
        try breakSome()
        let before = try descriptors()
        try breakSome()
        // A worker for each decode at a time and two for headers, each with two descriptors; and the helper.
        let workers = ProcessInfo.processInfo.activeProcessorCount + 2
        #expect(try descriptors() <= before + 2 * workers)
        #expect(try processes(of: server).all.count <= 1 + workers)
        let all = try processes(of: server).all
        await server.stop()
        #expect(await eventually { all.allSatisfy { DecoderProcesses.parent(of: $0) == nil } })
    }

    @Test func `no process outlives a service that is killed`() async throws {
        let origin = try origin()
        let server = try await server(origin)
        #expect(try Client(server.port).get("/image/w=64/picture")?.status == 200)
        let all = try processes(of: server).all
        #expect(all.count >= 2)
        server.process.send(signal: SIGKILL)
        _ = await server.process.end()
        #expect(await eventually { all.allSatisfy { DecoderProcesses.parent(of: $0) == nil } })
    }

    @Test(arguments: ["header", "pixels"]) func `work that no client waits for is stopped`(step: String) async throws {
        let origin = try origin()
        let server = try await server(origin, "--image-timeout", "10min")
        let client = try Client(server.port, asking: "/image/w=64/fault-\(step)/loop")
        let busy = Locked<pid_t?>(nil)
        #expect(
            await eventually {
                let found = (try? processes(of: server).workers)?.first { DecoderProcesses.seconds(of: $0) > 0.5 }
                busy.withLock { $0 = found }
                return found != nil
            })
        withExtendedLifetime(client) {}
        _ = consume client
        let worker = busy.withLock { $0 } ?? 0
        #expect(await eventually { DecoderProcesses.parent(of: worker) == nil })
        #expect(try Client(server.port).get("/image/w=64/picture")?.status == 200)
        #expect(!server.process.errorOutput.contains("broke its decoder"), "\(server.process.errorOutput)")
    }

    @Test func `stopped workers hold up neither other clients' files nor their stored images, and end with an error`()
        async throws
    {
        let origin = try origin()
        let server = try await server(origin)
        let other = try Client(server.port, from: "127.0.0.3")
        for path in ["/image/w=64/warm", "/file"] { #expect(other.get(path)?.status == 200) }
        let stopped = try processes(of: server)
        for process in stopped.all { kill(process, SIGSTOP) }
        defer { for process in stopped.all { kill(process, SIGCONT) } }
        // More than the store has threads.
        let greedy = try (0..<40).map { number in
            try Client(server.port, from: "127.0.0.2", asking: "/image/w=64/cold\(number)")
        }
        #expect(await origin.waits { $0.count { $0.request.path.contains("cold") } >= 8 })
        for _ in 0..<20 {
            for path in ["/image/w=64/warm", "/file"] { #expect(other.get(path)?.status == 200) }
        }
        let answers = greedy.map { $0.answer() }
        #expect(answers.allSatisfy { $0?.status == 200 || $0?.status == 503 }, "\(answers.map { $0?.text })")
        let errors = answers.filter { $0?.status == 503 }
        #expect(errors.allSatisfy { $0?.text.contains("image-decoder-unavailable") == true })
        // Others have taken their place.
        #expect(try Client(server.port, from: "127.0.0.2").get("/image/w=64/later")?.status == 200)
        #expect(stopped.workers.allSatisfy { DecoderProcesses.parent(of: $0) == nil })
    }

    @Test func `without workers images are 503 unless isolation is optional, and are made once there are workers`()
        async throws
    {
        let (origin, directory) = (try origin(), try TestDirectory())
        let flag = try directory.write("", to: "no-helper")
        func server(_ mode: String) async throws -> ServerProcess {
            try await ServerProcess(
                origin: origin.url(""), "--admin", "127.0.0.1:0", "--isolate-decoders", mode,
                environment: ["IMGCACHE_TEST_DECODER_FAULTS": flag])
        }
        let strict = try await server("on")
        let (client, admin) = (try Client(strict.port), try Client(try strict.adminPort()))
        func ready() -> Client.Response? { admin.ask("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") }
        func metrics() -> String { admin.ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")?.text ?? "" }
        for path in ["/image/w=64/picture", "/image/info/picture"] {
            let answer = client.get(path)
            #expect(answer?.status == 503 && answer?["Retry-After"] == "10", "\(answer?.text ?? "")")
            #expect(answer?.text.contains("image-decoder-unavailable") == true, "\(answer?.text ?? "")")
        }
        #expect(client.get("/picture")?.status == 200)
        #expect(ready()?.status == 503 && ready()?.text.contains("undecodable") == true)
        #expect(metrics().contains("imgcache_image_workers_available 0"))
        #expect(strict.process.errorOutput.contains("no image is decoded"), "\(strict.process.errorOutput)")
        #expect(strict.process.errorOutput.contains("the helper ended at its start"), "its end is waited for")

        let lax = try await server("optional")
        #expect(try Client(lax.port).get("/image/w=64/picture")?.status == 200)
        #expect(lax.process.errorOutput.contains("without isolation"), "\(lax.process.errorOutput)")

        try FileManager.default.removeItem(atPath: flag)
        // The question alone has the next try begin.
        #expect(await eventually { ready()?.status == 200 })
        #expect(client.get("/image/w=64/picture")?.status == 200)
        #expect(metrics().contains("imgcache_image_workers_available 1"))
    }

    @Test func `a worker that keeps far more memory than it began with is replaced`() async throws {
        let origin = try origin()
        let server = try await server(origin)
        let client = try Client(server.port)
        #expect(client.get("/image/w=64/picture")?.status == 200)
        for number in 1...4 { #expect(client.get("/image/w=\(number)/fault-pixels/keep")?.status == 200) }
        let workers = { try processes(of: server).workers }
        #expect(
            await eventually {
                (try? workers().allSatisfy { DecoderProcesses.resident($0) < 512 << 20 }) == true
            })
        for number in 5...8 { #expect(client.get("/image/w=\(number)/picture")?.status == 200) }
        #expect(notices(of: server).allSatisfy { !$0.contains("broke its decoder") })
    }

    private func processes(of server: ServerProcess) throws -> DecoderProcesses {
        try DecoderProcesses(of: server.process.pid)
    }
}
