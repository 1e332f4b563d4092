import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// The three removal verbs, and what stays.
@Suite struct RemovalTests {
    private func bench() throws -> Bench {
        try Bench { ScriptedRepresentation(Array($0.path.utf8)).response(to: $0) }
    }

    private func fill(_ bench: Bench) async throws {
        for path in ["/1", "/10", "/2"] { _ = try await bench.cache.file(for: "http://origin.example" + path) }
        var owned = FileRequest("http://origin.example/1")
        owned.owner = "ann"
        _ = try await bench.cache.file(for: owned)
    }

    private func urls(_ bench: Bench) async throws -> [String] {
        try await bench.cache.entries(by: .url).map { String($0.url.dropFirst(21)) }
    }

    @Test func `removing an owner removes all its partials and no others`() async throws {
        let bytes = Array(repeating: UInt8(7), count: 600_000)
        let bench = try Bench { ScriptedRepresentation(bytes).response(to: $0).cut(after: 300_000) }
        for (index, owner) in ["ann", "bob", nil].enumerated() {
            for isProved in [false, true] {
                let code = await bench.failure(.file) { request in
                    request.owner = owner
                    request.transfer.retry.maxRetries = 0
                    guard isProved else { return }
                    request.mirrors = [Mirror("http://mirror.example/a")]
                    request.sha256 = SHA256.hex(of: bytes)
                }
                #expect(code == .unreachable)
                #expect(try bench.cache.blocking.statistics().partials == 2 * index + (isProved ? 2 : 1))
            }
        }
        for (owner, left) in [("ann", 4), (nil, 2), ("bob", 0)] {
            var request = FileRequest(Bench.url)
            request.owner = owner
            _ = try bench.cache.blocking.removeNamespace(of: request)
            #expect(try bench.cache.blocking.statistics().partials == left)
        }
    }

    @Test func `removing a request leaves other owners' entries of its URL`() async throws {
        let bench = try bench()
        try await fill(bench)
        #expect(try await bench.cache.remove("http://origin.example/1").entries == 1)
        #expect(try await urls(bench) == ["/1", "/10", "/2"])
        #expect(try await bench.cache.remove("http://origin.example/1") == RemovalResult())
    }

    @Test func `removing a URL removes every owner's entries, but no URL with the same prefix`() async throws {
        let bench = try bench()
        try await fill(bench)
        #expect(try await bench.cache.remove(.url("http://origin.example/1")).entries == 2)
        #expect(try await urls(bench) == ["/10", "/2"])
    }

    @Test func `removing an owner keeps shared entries`() async throws {
        let bench = try bench()
        try await fill(bench)
        let removed = try await bench.cache.remove(.owner("ann"))
        #expect(removed.entries == 1 && removed.bytes > 0)
        #expect(try await urls(bench) == ["/1", "/10", "/2"])
    }

    @Test func `clearing memory leaves the disk, and clearing everything leaves nothing`() async throws {
        let bench = try bench()
        try await fill(bench)
        #expect(try await bench.cache.clear(.memory) == RemovalResult())
        #expect(try await bench.cache.entries().count == 4)
        #expect(try await bench.cache.clear().entries == 4)
        #expect(try await bench.cache.entries().isEmpty)
    }

    @Test func `a dry prune reports the entries that a prune evicts`() async throws {
        let bench = try bench()
        try await fill(bench)
        let dry = try await bench.cache.prune(to: 0, dryRun: true)
        #expect(try await bench.cache.entries().count == 4)
        #expect(try await bench.cache.prune(to: 0) == dry && dry.entries == 4)
        #expect(try await bench.cache.entries().isEmpty)
        #expect(try await bench.cache.prune() == RemovalResult())
    }

    @Test func `URLs are taken as values of Foundation's type too`() async throws {
        let bench = try bench()
        let url = try #require(URL(string: "http://origin.example/a"))
        let file = try await bench.cache.file(for: url)
        #expect(file.finalURL == "http://origin.example/a")
        let copy = URL(filePath: bench.directory.path("copy"))
        try await file.export(to: copy, overwrite: false)
        #expect(try Data(contentsOf: copy) == Data("/a".utf8))
        let error = await #expect(throws: ImageCacheError.self) { try await file.export(to: url, overwrite: true) }
        #expect(error?.code == .invalidRequest)
        #expect(try await bench.cache.storedFile(for: FileRequest(url))?.path == file.path)
        #expect(try await bench.cache.forward(ForwardRequest(url)).cacheStatus.description.contains("hit"))
    }
}
