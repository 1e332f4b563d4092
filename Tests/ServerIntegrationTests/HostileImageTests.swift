import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// The service on broken and malicious originals: those of `TestAssets`, or of the folder in `IMGCACHE_IMAGES`.
@Suite(.fewAtATime(limit: .seconds(180))) struct HostileImageTests {
    private static let folder: String = {
        let own = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../TestAssets")
        return (ProcessInfo.processInfo.environment["IMGCACHE_IMAGES"] ?? own.standardized.path) + "/hostile"
    }()

    @Test func `a hostile image is rendered with all its frames or refused, and the service survives`() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder).sorted()
        #expect(names.count > 400)
        let origin = try ScriptedOrigin { request in
            let name = request.path.dropFirst()
            let bytes = (try? Data(contentsOf: URL(filePath: "\(Self.folder)/\(name)"))).map { [UInt8]($0) } ?? []
            return [
                .head(status: 200, fields: [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]),
                .body(bytes),
            ]
        }
        let server = try await ServerProcess(origin: origin.url(""))
        var statuses: [Int: Int] = [:]
        for name in names {
            let client = try Client(server.port)
            let path = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["_", ".", "-"])) ?? name
            let answer = try #require(client.get("/image/w=64,h=64,f=webp/\(path)"), "\(name)")
            statuses[answer.status, default: 0] += 1
            switch answer.status {
            case 200:
                let info = try ImageInfo.read(ImageSource(answer.body))
                #expect(info.format == .webp && info.width <= 64 && info.height <= 64, "\(name)")
            case 415, 422: #expect(answer.text.hasPrefix("{\"error\":\""), "\(name): \(answer.text)")
            default: Issue.record("\(name): \(answer.status) \(answer.text)")
            }
        }
        #expect(statuses[200] ?? 0 > 50 && statuses[422] ?? 0 > 50 && statuses[415] ?? 0 > 5, "\(statuses)")
    }

    @Test func `a small file that demands too much is refused with 422, with and without workers`()
        async throws
    {
        let files: [String: [UInt8]] = [
            "/grid.avif": HostileImages.avif(HostileImages.Grid(rows: 20, columns: 70)),
            "/items.avif": HostileImages.avif(HostileImages.Grid(rows: 64, columns: 150)),
            "/profile.png": HostileImages.png(profile: HostileImages.profile(steps: 20_000)),
            "/chunks.png": HostileImages.png(chunks: 1_000_000),
            "/tile.tif": HostileImages.tiff(tile: (1 << 20, 1 << 21)),
            "/largest_tile.tif": HostileImages.tiff(tile: ((1 << 32) - 2, 1 << 31)),
        ]
        let origin = try ScriptedOrigin { request in
            let bytes = files[request.path] ?? []
            return [
                .head(status: 200, fields: [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]),
                .body(bytes),
            ]
        }
        for isolation in ["on", "off"] {
            let server = try await ServerProcess(origin: origin.url(""), "--isolate-decoders", isolation)
            for path in files.keys.sorted() {
                let (client, needsWorkers) = (try Client(server.port), path.hasSuffix(".tif"))
                let answer = try #require(client.get("/image/w=64,h=64,f=webp\(path)"), "\(path)")
                let status = needsWorkers && isolation == "off" ? 415 : 422
                #expect(answer.status == status, "\(path): \(answer.text)")
                #expect(!answer.text.contains("image-crashed"), "\(path): \(answer.text)")
            }
            let client = try Client(server.port)
            #expect(client.get("/image/w=64,h=64,f=webp/chunks.png")?.status == 422)
        }
    }
}
