import Foundation
import TestSupport
import Testing

/// A bucket of a real object store as an origin.
@Suite(
    .fewAtATime(limit: .seconds(180)),
    .enabled(if: ObjectStore.unavailableReason == nil, "\(ObjectStore.unavailableReason ?? "")"))
struct BucketOriginTests {
    private func put(_ file: String, at key: String, _ store: ObjectStore) async throws {
        let url = "\(store.endpoint)/\(ObjectStore.bucket)/\(key)"
        let keys = "\(ObjectStore.accessKeyID):\(ObjectStore.secretAccessKey)"
        // It may respond 500 for a moment after its start.
        let isStored = try await eventually {
            let curl = try ChildProcess(
                "curl",
                [
                    "-sS", "-f", "--noproxy", "*", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", keys, "-X", "PUT",
                    "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-H", "Content-Type: image/jpeg", "--data-binary",
                    "@\(file)", url,
                ], environment: ProcessInfo.processInfo.environment)
            return await curl.end() == .exited(0)
        }
        guard isStored else { throw TestSetupFailure("the object cannot be stored: \(key)") }
    }

    @Test func `a bucket's objects are served to clients without keys, and nothing else of the bucket`() async throws {
        let store = try await ObjectStore()
        let directory = try TestDirectory()
        let picture = NumberedPictures.picture("a-1")
        let file = directory.path("picture")
        try Data(picture).write(to: URL(fileURLWithPath: file))
        let names = ["plain.jpg", "a%20b%2Bc%26d%40e.jpg", "%C3%A9t%C3%A9/%28x%29~1.jpg"]
        for name in names { try await put(file, at: "public/\(name)", store) }
        try await put(file, at: "private.jpg", store)
        let credentials = try directory.write(
            "[reader]\naws_access_key_id = \(ObjectStore.accessKeyID)\naws_secret_access_key = \(ObjectStore.secretAccessKey)\n",
            to: "credentials")
        let settings = try directory.write(
            """
            {"origins": {
               "archive": {"match": "/archive/", "url": "s3://\(ObjectStore.bucket)/public", "s3-endpoint": "\(store.endpoint)",
                           "s3-profile": "reader", "s3-credentials-file": "\(credentials)"},
               "google": {"match": "/google/", "url": "gs://\(ObjectStore.bucket)/public", "s3-endpoint": "\(store.endpoint)",
                          "s3-profile": "reader", "s3-credentials-file": "\(credentials)"},
               "open": {"match": "/open/", "url": "\(store.endpoint)/\(ObjectStore.bucket)/public"}
            }}
            """, to: "server.json")
        let server = try await ServerProcess(origin: nil, "--config", settings, directory: directory)
        let client = try Client(server.port)
        for name in names {
            let answer = try #require(
                client.get("/archive/\(name)", "Authorization: Basic YTpi", "X-Amz-Acl: public-read"))
            #expect(
                answer.status == 200 && answer.body == picture, "\(name): \(answer.status) \(answer.text.prefix(300))")
            #expect(client.get("/archive/\(name)?v=2")?["Cache-Status"]?.contains("uri-miss") == false, "\(name)")
            #expect(client.get("/archive/\(name)", "Range: bytes=3-6")?.body == Array(picture[3...6]))
        }
        // The store does not look at the region, which is Google's.
        #expect(client.get("/google/plain.jpg?v=4")?.body == picture)
        let image = try #require(client.get("/image/w=20,f=png/archive/plain.jpg?v=3"))
        #expect(image.status == 200 && image["Content-Type"] == "image/png", "\(image.text)")
        // Another origin at the same URL has no keys, and gets nothing that they open.
        #expect(client.get("/open/plain.jpg")?.status == 403)
        for path in ["/archive/?list-type=2", "/archive/", "/archive/../private.jpg", "/archive/%2e%2e/private.jpg"] {
            #expect([400, 404].contains(client.get(path)?.status), "\(path)")
        }
        #expect(client.get("/archive/?acl")?.status == 400)
        #expect(client.get("/archive/missing.jpg")?.status == 404)
        for method in ["PUT", "DELETE", "POST"] {
            #expect(
                client.ask("\(method) /archive/plain.jpg HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")?.status
                    == 405)
        }
        #expect(client.ask("HEAD /archive/plain.jpg HTTP/1.1\r\nHost: x\r\n\r\n")?.status == 200)
    }
}
