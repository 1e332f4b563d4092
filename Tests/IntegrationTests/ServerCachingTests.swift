import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// Freshness, validators and variants of real servers, and their use by the library.
@Suite(.fewAtATime) struct ServerCachingTests {
    private let directory: TestDirectory
    private let clock = Locked(Date())
    private let cache: DownloadCache

    init() throws {
        directory = try TestDirectory()
        var configuration = DownloadCache.Configuration()
        configuration.now = { [clock] in clock.withLock { $0 } }
        cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
    }

    private func pass(_ seconds: Double) { clock.withLock { $0 += seconds } }

    @Test(.enabled(if: Nginx.unavailableReason == nil))
    func `nginx: a file is fresh for as long as expires says, and then revalidated with or without ETag`() async throws
    {
        for omitsETag in [false, true] {
            clock.withLock { $0 = Date() }  // the server's Date is the real one
            var options = Nginx.Options()
            options.omitsETag = omitsETag
            options.directives = "expires 1h;"
            let nginx = try await Nginx(options)
            try nginx.serve(Content(seed: 5, size: 20_000), as: "a.jpg")
            let request = FileRequest(nginx.url("/a.jpg"))
            #expect(try await cache.file(for: request).source == .network)
            pass(3500)
            #expect(try await cache.file(for: request).source == .disk)
            pass(200)
            let confirmed = try await cache.file(for: request)
            #expect(confirmed.source == .revalidated)
            #expect(confirmed.bytesTransferred == 0)
            #expect(try await nginx.requests(atLeast: 2).map(\.status) == [200, 304])
            if omitsETag { continue }  // a change within one second is not seen by its date
            try nginx.serve(Content(seed: 6, size: 30_000), as: "a.jpg")
            pass(3700)
            let changed = try await cache.file(for: request)
            #expect(changed.source == .network)
            #expect(Content(seed: 6, size: 30_000).equalsFile(at: changed.path))
        }
    }

    @Test(.enabled(if: Nginx.unavailableReason == nil))
    func `nginx with gzip_vary: each Accept-Encoding has its own stored variant`() async throws {
        var options = Nginx.Options()
        options.compresses = true
        options.directives = "gzip_vary on; expires 1h;"
        let nginx = try await Nginx(options)
        try FileManager.default.createDirectory(atPath: nginx.root, withIntermediateDirectories: true)
        try String(repeating: "compress me ", count: 5000).write(
            toFile: nginx.root + "/a.txt", atomically: true, encoding: .utf8)
        var plain = FileRequest(nginx.url("/a.txt"))
        var coded = plain
        coded.fields[.acceptEncoding] = "gzip"
        coded.transfer.acceptsContentCoding = true
        plain.fields[.acceptEncoding] = "identity"
        let sizes = [try await cache.file(for: plain).size, try await cache.file(for: coded).size]
        #expect(sizes[0] == 60_000)
        #expect(sizes[1] < 10_000)
        #expect(try await cache.file(for: plain).source == .disk)
        #expect(try await cache.file(for: coded).source == .disk)
        #expect(try await cache.info(for: plain).entries.count == 2)
        #expect(try await nginx.requests(atLeast: 2).count == 2)
    }

    @Test(.enabled(if: Apache.unavailableReason == nil))
    func `Apache httpd: a file with a Last-Modified is fresh by heuristic, then revalidated, then replaced`()
        async throws
    {
        let apache = try await Apache()
        try apache.serve(Content(seed: 5, size: 20_000), as: "a", age: 100_000)
        let request = FileRequest(apache.url("/a"))
        #expect(try await cache.file(for: request).source == .network)
        pass(9000)  // a tenth of its age is 10,000 s
        #expect(try await cache.file(for: request).source == .disk)
        pass(2000)
        #expect(try await cache.file(for: request).source == .revalidated)
        try apache.serve(Content(seed: 6, size: 20_000), as: "a", age: 5)
        pass(20_000)
        let changed = try await cache.file(for: request)
        #expect(changed.source == .network)
        #expect(Content(seed: 6, size: 20_000).equalsFile(at: changed.path))
        #expect(try await apache.requests(atLeast: 3) == ["GET /a 200", "GET /a 304", "GET /a 200"])
    }

    @Test(.enabled(if: Apache.unavailableReason == nil))
    func `Apache httpd: mod_expires and Cache-Control from its configuration hold`() async throws {
        let apache = try await Apache(
            directives: """
                ExpiresActive On
                ExpiresDefault "access plus 30 seconds"
                <Location /never>
                    ExpiresActive Off
                    Header set Cache-Control no-store
                </Location>
                """)
        for name in ["a", "never"] { try apache.serve(Content(seed: 5, size: 1000), as: name, age: 1000) }
        let request = FileRequest(apache.url("/a"))
        _ = try await cache.file(for: request)
        pass(25)
        #expect(try await cache.file(for: request).source == .disk)
        pass(10)
        #expect(try await cache.file(for: request).source == .revalidated)
        #expect(try await cache.file(for: FileRequest(apache.url("/never"))).isStored == false)
    }
}
