import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// Looking through a cache and purging, as a service's administrator does.
@Suite(.fewAtATime) struct BrowsingTests {
    private let directory: TestDirectory
    private let cache: DownloadCache
    private let origin: ScriptedOrigin

    init() throws {
        directory = try TestDirectory()
        cache = try DownloadCache(directory: directory.path("cache"))
        let image = try DecodedImage(width: 200, height: 100) { memory in
            for index in memory.indices { memory[index] = index % 4 == 3 ? 255 : UInt8(index % 200) }
        }
        let jpeg = try ImageEncoder.jpeg().encode(image)
        origin = try ScriptedOrigin { request in
            let body = request.path.hasSuffix(".jpg") ? jpeg : Array("text".utf8)
            let fields = [("Cache-Control", "max-age=60"), ("Content-Length", "\(body.count)"), ("ETag", "\"1\"")]
            return [.head(status: 200, fields: fields), .body(body)]
        }
    }

    @Test func `entries are found by words of their URL, the newest first`() async throws {
        for path in ["/cats/one.txt", "/dogs/two.txt", "/cats/three.txt"] {
            _ = try await cache.file(for: FileRequest(origin.url(path)))
        }
        let cats = try await cache.entries(matching: "CATS txt", limit: 10)
        #expect(cats.entries.map(\.url) == [origin.url("/cats/three.txt"), origin.url("/cats/one.txt")])
        #expect(cats.next == nil)
        let first = try await cache.entries(limit: 2)
        let second = try await cache.entries(after: first.next, limit: 2)
        #expect(
            (first.entries + second.entries).map(\.url).map { $0.suffix(9) } == ["three.txt", "s/two.txt", "s/one.txt"])
        let words = try #require(first.entries.first?.explanation(at: Date()))
        #expect(words.reason.contains("max-age=60"))
    }

    @Test func `a preview of an entry is made without the origin, and only of images`() async throws {
        _ = try await cache.file(for: FileRequest(origin.url("/a.jpg")))
        _ = try await cache.file(for: FileRequest(origin.url("/a.txt")))
        let entries = try await cache.entries(limit: 2).entries
        let preview = try #require(try await cache.preview(ofEntry: entries[1].id, .fit(50, 50)))
        #expect(preview.format == .jpeg)
        let info = try ImageInfo.read(ImageSource(preview.bytes))
        #expect((info.width, info.height) == (50, 25))
        #expect(try await cache.preview(ofEntry: entries[0].id, .fit(50, 50)) == nil)
        #expect(try await cache.preview(ofEntry: 1, .fit(50, 50)) == nil)
        #expect(origin.requests.count == 2)
        // Nothing of it is kept.
        #expect(try await cache.entries(limit: 9).entries.count == 2)
    }

    @Test func `removing an original also removes its thumbnails, including those in memory`() async throws {
        _ = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(50, 50))
        _ = try await cache.thumbnail(for: origin.url("/b.jpg"), resizedTo: .fit(50, 50))
        let entries = try await cache.entries(matching: "/a.jpg", limit: 9).entries
        #expect(entries.map { $0.recipe != nil } == [true, false])
        let original = try #require(entries.last)
        #expect(try await cache.remove(.entry(original.id)).entries == 1)
        #expect(try await cache.remove(.entry(original.id)).entries == 0)
        #expect(try await cache.entries(matching: "/a.jpg", limit: 9).entries.isEmpty)
        let again = try await cache.thumbnail(for: origin.url("/a.jpg"), resizedTo: .fit(50, 50))
        #expect(again.source == .original(.network))
    }

    @Test func `a purge takes a URL, a prefix, a host or everything, of all owners`() async throws {
        for path in ["/1", "/10", "/2"] { _ = try await cache.file(for: FileRequest(origin.url(path))) }
        var owned = FileRequest(origin.url("/1"))
        owned.owner = "ann"
        _ = try await cache.file(for: owned)
        #expect(try await cache.remove(.url(origin.url("/1"))).entries == 2)
        #expect(try await cache.remove(.prefix(origin.url("/1"))).entries == 1)
        #expect(try await cache.remove(.host("elsewhere")).entries == 0)
        #expect(try await cache.remove(.host("127.0.0.1")).entries == 1)
        _ = try await cache.file(for: FileRequest(origin.url("/3")))
        #expect(try await cache.clear().entries == 1)
        #expect(try await cache.statistics().entries == 0)
    }

    @Test func `the bytes, attempts and resumes of all transfers are counted`() async throws {
        #expect(cache.transferTotals == TransferTotals())
        _ = try await cache.file(for: FileRequest(origin.url("/1")))
        _ = try await cache.file(for: FileRequest(origin.url("/1")))
        let totals = cache.transferTotals
        #expect(totals.attempts == 1 && totals.bytesReceived == 4 && totals.resumes == 0)
        #expect(totals.responses == [200: 1] && totals.failures.isEmpty)
    }

    @Test func `a closed cache says that it cannot be written`() async throws {
        try await cache.checkWritable()
        await cache.close()
        await #expect(throws: ImageCacheError.self) { try await cache.checkWritable() }
    }
}
