import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Presigned and tokenised URLs: one entry, whatever the token.
@Suite(.timeLimit)
struct KeyedRequestTests {
    private static func presigned(_ token: String, path: String = "/a") -> String {
        "https://bucket.s3.example\(path)?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20261122"
            + "&X-Amz-Date=20261122T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=\(token)"
    }

    private static let picture = ScriptedRepresentation(ScriptedRepresentation.bytes(300_000))

    @Test func `a file under a new signature comes from the store`() async throws {
        let bench = try Bench(Self.picture)
        let first = try await bench.cache.file(for: FileRequest(Self.presigned("01")))
        let second = try await bench.cache.file(for: FileRequest(Self.presigned("02")))
        #expect(second.source == .disk)
        #expect(second.path == first.path)
        #expect(bench.transport.requests.map(\.url) == [Self.presigned("01")])
        #expect(try await bench.cache.entries().map(\.url) == ["https://bucket.s3.example/a"])
    }

    @Test func `a stale file is confirmed under the new signature`() async throws {
        let bench = try Bench(Self.picture)
        _ = try await bench.cache.file(for: FileRequest(Self.presigned("01")))
        bench.advance(seconds: 100)
        let second = try await bench.cache.file(for: FileRequest(Self.presigned("02")))
        #expect(second.source == .revalidated)
        #expect(bench.transport.requests.map(\.url) == [Self.presigned("01"), Self.presigned("02")])
    }

    @Test func `a download is resumed under the new signature`() async throws {
        let bench = try Bench { request in
            request.number == 1
                ? Self.picture.response(to: request).cut(after: 280_000) : Self.picture.response(to: request)
        }
        var request = FileRequest(Self.presigned("01"))
        request.transfer.retry.maxRetries = 0
        await #expect(throws: ImageCacheError.self) { _ = try await bench.cache.file(for: request) }
        let file = try await bench.cache.file(for: FileRequest(Self.presigned("02")))
        #expect(file.source == .networkResumed)
        #expect(file.resumedFrom > 0)
        #expect(try Bench.body(of: file) == Body(Self.picture.bytes))
    }

    @Test func `owners, users and credentials never share an entry`() async throws {
        let bench = try Bench(Self.picture)
        var ann = FileRequest(Self.presigned("01"))
        ann.owner = "ann"
        var authorized = FileRequest(Self.presigned("02"))
        authorized.fields[.authorization] = "Bearer x"
        var user = FileRequest(Self.presigned("03"))
        user.transfer.credentials = .init(user: "u", password: "p")
        for request in [ann, authorized, user, FileRequest(Self.presigned("04"))] {
            #expect(try await bench.cache.file(for: request).source == .network)
        }
        ann.url = Self.presigned("05")
        #expect(try await bench.cache.file(for: ann).source == .disk)
    }

    @Test func `a shared cache asks the origin for each signature unless its host is named`() async throws {
        let bench = try Bench(.shared) { Self.picture.response(to: $0) }
        for token in ["01", "02"] { _ = try await bench.get(.proxied, FileRequest(Self.presigned(token))) }
        #expect(bench.sent.count == 2)
        let named = try Bench(
            .shared, { $0.rules.keys.signedHosts = ["bucket.s3.example"] }, script: { Self.picture.response(to: $0) })
        for token in ["01", "02"] { _ = try await named.get(.proxied, FileRequest(Self.presigned(token))) }
        #expect(named.sent.count == 1)
    }

    @Test func `an error for one token is not stored for another`() async throws {
        let bench = try Bench(
            .shared, { $0.rules.keys.signedHosts = ["bucket.s3.example"] },
            script: { request in
                request.url.hasSuffix("bad")
                    ? ScriptedResponse(.forbidden, [.cacheControl: "max-age=60"], body: [1, 2, 3])
                    : Self.picture.response(to: request)
            })
        #expect(try await bench.get(.proxied, FileRequest(Self.presigned("bad"))).code == 403)
        #expect(try await bench.get(.proxied, FileRequest(Self.presigned("01"))).code == 200)
    }

    @Test func `a request's own key joins URLs with different paths`() async throws {
        let bench = try Bench(Self.picture)
        func request(_ token: String) -> FileRequest {
            var request = FileRequest("https://cdn.example/\(token)/file")
            request.key = "https://cdn.example/file"
            return request
        }
        _ = try await bench.cache.file(for: request("t1"))
        #expect(try await bench.cache.file(for: request("t2")).source == .disk)
        // The validator is not valid at another path, so everything is fetched again.
        bench.advance(seconds: 100)
        #expect(try await bench.cache.file(for: request("t3")).source == .network)
        #expect(try await bench.cache.file(for: FileRequest("https://cdn.example/file")).source == .disk)
    }

    @Test func `a key that is not a URL is refused`() async throws {
        let bench = try Bench(Self.picture)
        await #expect(throws: ImageCacheError.self) {
            _ = try await bench.cache.file(for: bench.request { $0.key = "file" })
        }
        #expect(bench.sent.isEmpty)
    }

    @Test func `a purge under one signature removes entries from every signature`() async throws {
        let bench = try Bench(Self.picture)
        _ = try await bench.cache.file(for: FileRequest(Self.presigned("01")))
        #expect(try await bench.cache.remove(FileRequest(Self.presigned("02"))).entries == 1)
        #expect(try await bench.cache.file(for: FileRequest(Self.presigned("03"))).source == .network)
        #expect(try await bench.cache.remove(.url(Self.presigned("04"))).entries == 1)
        #expect(try await bench.cache.file(for: FileRequest(Self.presigned("05"))).source == .network)
    }
}
