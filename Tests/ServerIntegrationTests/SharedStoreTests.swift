import Foundation
import ImageCodec
import TestSupport
import Testing

/// Services that share originals and thumbnails through a real object store.
@Suite(
    .fewAtATime(limit: .seconds(180)),
    .enabled(if: ObjectStore.unavailableReason == nil, "\(ObjectStore.unavailableReason ?? "")"))
struct SharedStoreTests {
    private static let picture: [UInt8] = {
        let image = try? DecodedImage(width: 400, height: 300) { memory in
            for index in 0..<(400 * 300) {
                memory[index * 4] = UInt8(truncatingIfNeeded: index % 251)
                memory[index * 4 + 3] = 255
            }
        }
        return image.flatMap { try? ImageEncoder.jpeg(quality: 90).encode($0) } ?? []
    }()

    private func origin(cacheControl: String = "public, max-age=600") throws -> ScriptedOrigin {
        try ScriptedOrigin { _ in
            let head = [
                ("ETag", "\"1\""), ("Cache-Control", cacheControl), ("Content-Length", "\(Self.picture.count)"),
                ("Date", httpDate(Date())),
            ]
            return [.head(status: 200, fields: head), .body(Self.picture)]
        }
    }

    private func server(
        _ origin: ScriptedOrigin, _ endpoint: String, prefix: String = "services",
        secret: String = ObjectStore.secretAccessKey
    ) async throws -> ServerProcess {
        try await ServerProcess(
            origin: origin.url(""), "--remote", "s3://\(ObjectStore.bucket)/\(prefix)", "--admin", "127.0.0.1:0",
            environment: ObjectStore.environment(endpoint, secret: secret))
    }

    /// Ends a service, which uploads what waits.
    private func end(_ server: ServerProcess) async -> Bool {
        server.process.send(signal: SIGTERM)
        return await server.process.end() == .exited(0)
    }

    /// A store that has answered: it may respond 500 for a moment after its start.
    private func store() async throws -> ObjectStore {
        let store = try await ObjectStore()
        let origin = try origin()
        for number in 1...60 {
            for _ in 1...2 {
                let server = try await server(origin, store.endpoint, prefix: "ready")
                let answer = try Client(server.port).get("/\(number)")
                #expect(answer?.body == Self.picture)
                _ = await end(server)
            }
            if origin.requests(to: "/\(number)").count == 1 { return store }
        }
        throw TestSetupFailure("the store gives nothing back")
    }

    @Test func `a thumbnail made by one service is served by another without the origin and without a decode`()
        async throws
    {
        let (store, origin) = (try await store(), try origin())
        let one = try await server(origin, store.endpoint)
        let path = "/image/w=100,f=webp/a.jpg"
        let first = try #require(try Client(one.port).get(path))
        #expect(first.status == 200 && origin.requests.count == 1)
        #expect(try Client(one.port).get("/plain.jpg")?.body == Self.picture)
        // The end of a service does not lose what it has made last.
        #expect(await end(one))

        let other = try await server(origin, store.endpoint)
        let second = try #require(try Client(other.port).get(path))
        #expect(second.body == first.body && second["ETag"] == first["ETag"])
        #expect(try Client(other.port).get("/plain.jpg")?.body == Self.picture)
        #expect(origin.requests.count == 2)
        let metrics = try await metrics(of: other)
        #expect(metrics["imgcache_images_decoded_total"] == "0", "\(metrics)")
        #expect(metrics["imgcache_remote_lookups_total{outcome=\"hit\"}"] == "2")
        #expect(metrics["imgcache_remote_images_total{outcome=\"hit\"}"] == "1")
        #expect(metrics["imgcache_remote_available"] == "1")
        // It is on the disk from then on, also when the store has gone.
        await store.kill()
        let third = try #require(try Client(other.port).get("/image/w=101,f=webp/a.jpg"))
        #expect(third.status == 200 && origin.requests.count == 2)
        #expect(try Client(other.port).get("/new.jpg")?.body == Self.picture)
        #expect(origin.requests.count == 3)
    }

    @Test func `fleets with different prefixes share nothing, and private responses are never shared`() async throws {
        let (store, origin) = (try await store(), try origin())
        let secret = try self.origin(cacheControl: "private, max-age=600")
        for prefix in ["red", "blue"] {
            let server = try await server(origin, store.endpoint, prefix: prefix)
            #expect(try Client(server.port).get("/image/w=50/b.jpg")?.status == 200)
            #expect(await end(server))
        }
        #expect(origin.requests.count == 2)
        for _ in 1...2 {
            let server = try await server(secret, store.endpoint, prefix: "red")
            #expect(try Client(server.port).get("/image/w=50/c.jpg")?.status == 200)
            #expect(await end(server))
        }
        #expect(secret.requests.count == 2)
    }

    @Test func `the service works without a store, without credentials and with wrong ones`() async throws {
        let (store, origin) = (try await store(), try origin())
        let wrong = try await server(origin, store.endpoint, secret: "wrong")
        // At the start, before anything was asked for, and once.
        let line = "the remote store refuses the credentials; nothing is shared"
        #expect(await eventually { wrong.process.errorOutput.contains(line) })
        #expect(try Client(wrong.port).get("/image/w=50/1.jpg")?.status == 200)
        let alone = try await server(origin, "http://127.0.0.1:1")
        #expect(try Client(alone.port).get("/image/w=50/1.jpg")?.status == 200)
        let without = try await ServerProcess(origin: origin.url(""), "--remote", "s3://bucket/x")
        #expect(try Client(without.port).get("/image/w=50/1.jpg")?.status == 200)
        #expect(without.process.errorOutput.contains("nothing is shared with other machines"))
        #expect(origin.requests.count == 3)
        #expect(await end(wrong))
        #expect(wrong.process.errorOutput.components(separatedBy: line).count == 2, "\(wrong.process.errorOutput)")
        #expect(await end(alone))
    }

    /// The lines of the metrics, by name and labels.
    private func metrics(of server: ServerProcess) async throws -> [String: String] {
        let text = server.process.errorOutput.components(separatedBy: "administered on 127.0.0.1:").last ?? ""
        let port = try #require(UInt16(text.prefix { $0.isNumber }), "\(server.process.errorOutput)")
        let answer = try #require(try Client(port).ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
        let lines = answer.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        return Dictionary(
            lines.compactMap { line in
                line.lastIndex(of: " ").map { (String(line[..<$0]), String(line[line.index(after: $0)...])) }
            }, uniquingKeysWith: { first, _ in first })
    }
}
