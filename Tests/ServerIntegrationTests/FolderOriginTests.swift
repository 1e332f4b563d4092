import Foundation
import TestSupport
import Testing

/// A folder of the machine as an origin.
@Suite(.fewAtATime) struct FolderOriginTests {
    private let directory: TestDirectory

    init() throws {
        directory = try TestDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path("my photos"), withIntermediateDirectories: true)
        try put("a-1", at: "my photos/cat.jpg")
        try put("a-1", at: "secret.jpg")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("my photos/link.jpg"), withDestinationPath: "../secret.jpg")
    }

    private func put(_ picture: String, at name: String) throws {
        try Data(NumberedPictures.picture(picture)).write(to: URL(filePath: directory.path(name)), options: .atomic)
    }

    private func url(_ folder: String) -> String {
        "file://" + directory.path(folder).replacingOccurrences(of: " ", with: "%20")
    }

    @Test func `a folder's files and images are served, changes are seen at once, and no path leaves it`()
        async throws
    {
        let server = try await ServerProcess(origin: url("my photos"), directory: directory)
        let client = try Client(server.port)
        let first = NumberedPictures.picture("a-1")
        let whole = try #require(client.get("/cat.jpg?v=1", "Authorization: Basic YTpi"))
        #expect(whole.status == 200 && whole.body == first && whole["Content-Type"] == "image/jpeg")
        #expect(client.get("/cat.jpg", "Range: bytes=3-6")?.body == Array(first[3...6]))
        let tag = try #require(whole["ETag"])
        #expect(client.get("/cat.jpg", "If-None-Match: \(tag)")?.status == 304)
        let image = try #require(client.get("/image/w=8,format=png/cat.jpg"))
        #expect(image.status == 200 && image["Content-Type"] == "image/png")
        #expect(client.get("/image/w=8,format=png/cat.jpg")?.body == image.body)

        try put("a-2", at: "my photos/cat.jpg")
        #expect(client.get("/cat.jpg")?.body == NumberedPictures.picture("a-2"))
        let next = try #require(client.get("/image/w=8,format=png/cat.jpg"))
        #expect(next.status == 200 && next["ETag"] != image["ETag"])

        try FileManager.default.removeItem(atPath: directory.path("my photos/cat.jpg"))
        #expect(client.get("/cat.jpg")?.status == 404)
        for path in ["/link.jpg", "/../secret.jpg", "/%2e%2e/secret.jpg", "/..%2Fsecret.jpg", "/", "/nothing"] {
            let status = try #require(client.get(path)?.status)
            #expect((400...404).contains(status), "\(path): \(status)")
            #expect(client.get("/image/w=8\(path)")?.status != 200, "\(path)")
        }
        let post = client.ask("POST /cat.jpg HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        #expect(post?.status == 405)
    }

    @Test func `a purge of a folder origin by its name removes what is stored of it`() async throws {
        let settings = try directory.write(
            #"{"default-ttl": "1h", "origins": {"photos": {"match": "/photos/", "url": "\#(url("my photos"))"}}}"#,
            to: "server.json")
        let server = try await ServerProcess(
            origin: nil, "--config", settings, "--admin", "127.0.0.1:0",
            environment: ["IMGCACHE_ADMIN_TOKEN": "token"], directory: directory)
        let client = try Client(server.port)
        // The client has the last byte before the store has the entry.
        #expect(await eventually { client.get("/photos/cat.jpg")?["Cache-Status"]?.contains("hit") == true })
        let body = #"{"origin": "photos"}"#
        let fields =
            "Authorization: Bearer token\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)"
        let purged = try Client(try server.adminPort()).ask(
            "POST /purge HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n\r\n\(body)")
        #expect(purged?.text.contains("\"purged\":1") == true, "\(purged?.text ?? "")")
    }

    @Test
    func `an origin in another origin's folder serves nothing outside its own, even if the other has stored it`()
        async throws
    {
        let settings = try directory.write(
            """
            {"default-ttl": "1h", "origins": {
               "all": {"match": "/all/", "url": "\(url(""))"}, "photos": {"match": "/photos/", "url": "\(url("my photos"))"}
            }}
            """, to: "server.json")
        let server = try await ServerProcess(origin: nil, "--config", settings, directory: directory)
        let client = try Client(server.port)
        #expect(client.get("/photos/link.jpg")?.status == 404)
        #expect(client.get("/all/my%20photos/link.jpg")?.status == 200)
        #expect(client.get("/photos/link.jpg?")?.status == 404)
        #expect(client.get("/photos/cat.jpg")?.status == 200)
    }

    @Test(arguments: [
        ["--default-ttl", "1h"], ["--ttl-rules", "/*.jpg:min-ttl=1h"], ["--ttl-rules", "/*.jpg:default-ttl=1h"],
    ])
    func `a folder origin with a lifetime serves the stored file within that time`(options: [String]) async throws {
        let server = try await ServerProcess(
            origin: url("my photos"), options[0], options[1], directory: directory)
        let client = try Client(server.port)
        let first = NumberedPictures.picture("a-1")
        #expect(client.get("/cat.jpg")?.body == first)
        try put("a-2", at: "my photos/cat.jpg")
        let again = try #require(client.get("/cat.jpg"))
        #expect(again.body == first && again["Cache-Status"]?.contains("hit") == true)
    }

    @Test(arguments: [[:], ["IMGCACHE_MAX_TTL": "1h"], ["IMGCACHE_TTL_RULES": "/*.png:default-ttl=1h"]])
    func `a folder origin without a lifetime shows a change at once`(settings: [String: String]) async throws {
        let server = try await ServerProcess(
            origin: url("my photos"), environment: settings, directory: directory)
        let client = try Client(server.port)
        let first = try #require(client.get("/cat.jpg"))
        #expect(first.body == NumberedPictures.picture("a-1"))
        #expect(first["Cache-Control"]?.contains("max-age=0") == true, "\(first["Cache-Control"] ?? "none")")
        try put("a-2", at: "my photos/cat.jpg")
        #expect(client.get("/cat.jpg", "Cookie: a=1")?.body == NumberedPictures.picture("a-2"))
    }

    @Test func `a folder origin with a stale lifetime shows a change after the first request`() async throws {
        let server = try await ServerProcess(
            origin: url("my photos"), "--stale-ttl", "1h", directory: directory)
        let client = try Client(server.port)
        let first = try #require(client.get("/cat.jpg"))
        #expect(first["Cache-Control"]?.contains("max-age=0") == true, "\(first["Cache-Control"] ?? "none")")
        try put("a-2", at: "my photos/cat.jpg")
        #expect(client.get("/cat.jpg")?.body == first.body)
        #expect(await eventually { client.get("/cat.jpg")?.body == NumberedPictures.picture("a-2") })
    }

    @Test func `an invalid folder origin ends the start with the reason`() async throws {
        for (folder, reason) in [
            (url("nowhere"), "cannot be used: No such file or directory"),
            ("file://host/folder", "must be file:/// and the absolute path of a folder"),
            ("file:///", "must be file:/// and the absolute path of a folder"),
        ] {
            let process = try ChildProcess(
                ServerProcess.executable, ["--origin", folder, "--listen", "127.0.0.1:0"],
                environment: ["HOME": directory.path])
            #expect(await process.end() == .exited(2))
            #expect(process.errorOutput.contains(reason), "\(process.errorOutput)")
        }
    }
}
