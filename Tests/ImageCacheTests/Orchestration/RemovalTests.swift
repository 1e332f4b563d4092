import CacheTestSupport
import Foundation
import ImageCacheTesting
import TestSupport
import Testing

@testable import DiskStore
@testable import ImageCache

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

    /// The key, the URL and the metadata of an owner's entry, and the key and the header of its partial.
    private struct Owned {
        let entry: StoredEntry
        let partial: EntryKey
        let header: [UInt8]

        init(of owner: String) async throws {
            let whole = ScriptedRepresentation([1])
            let cut = ScriptedRepresentation(Array(repeating: 7, count: 600_000))
            let bench = try Bench { request in
                let response = (request.number == 1 ? whole : cut).response(to: request)
                return request.number == 1 ? response : response.cut(after: 300_000)
            }
            let store = bench.cache.fetcher.store
            var entries: [StoredEntry] = []
            _ = try await bench.get(.file) { $0.owner = owner }
            try store.list {
                entries.append($0)
                return true
            }
            entry = try #require(entries.first)
            try store.remove(entry)
            let code = await bench.failure(.file) {
                $0.owner = owner
                $0.transfer.retry.maxRetries = 0
            }
            #expect(code == .unreachable)
            let rows = try store.withIndex { (index) throws(StoreError) in try index.catalogue().partials.all() }
            partial = try #require(rows.first).key
            header = try #require(try store.partial(for: partial)).header
        }

        /// Begins an entry in a process.
        func begin(in store: DiskStore) throws -> (BodyWriter, NewEntry) {
            let generation = store.generation(of: entry.url)
            let writer = try store.beginBody(for: entry.key)
            writer.epoch = generation.epoch
            try writer.start(header: [], total: 1)
            try [UInt8(2)].withUnsafeBytes { try writer.write($0) }
            return (
                writer,
                NewEntry(key: entry.key, url: entry.url, metadata: entry.metadata, generation: generation)
            )
        }

        /// Begins a partial in a process, for what was requested in an epoch.
        func beginPartial(in store: DiskStore, _ epoch: Generation.Epoch) throws -> BodyWriter {
            let writer = try store.beginBody(for: partial)
            writer.epoch = epoch
            try writer.start(header: header, total: 600_000)
            try [UInt8](repeating: 7, count: 300_000).withUnsafeBytes { try writer.write($0) }
            return writer
        }
    }

    static let targets = [
        RemovalTarget.owner("ann"), .url(Bench.url), .prefix("http://origin.example/"), .host("origin.example"),
        .everything,
    ]

    /// Another process ends a download, and begins to write one that it has requested, between two transactions of the removal.
    @Test(arguments: targets, [true, false])
    func `what was requested before a removal is not stored, whenever it comes`(
        target: RemovalTarget, keepsAtOnce: Bool
    ) async throws {
        let owned = try await Owned(of: "ann")
        let bench = try bench()
        _ = try await bench.cache.file(for: "http://other.example/")
        let store = bench.cache.fetcher.store
        var configuration = StoreConfiguration()
        configuration.minimumFreeSpace = 0
        let other = try DiskStore(directory: bench.directory.path("cache"), configuration: configuration)
        for step in 0..<100 {
            let (first, entry) = try owned.begin(in: other)
            _ = try first.commit(entry)
            let (late, lateEntry) = try owned.begin(in: other)
            let epoch = other.generation(of: owned.entry.url).epoch
            var partial: BodyWriter?
            let end = {
                _ = try? late.commit(lateEntry)
                let writer = try owned.beginPartial(in: other, epoch)
                if keepsAtOnce { try writer.keep() } else { partial = writer }
            }
            var left = step
            var failure: (any Error)?
            try store.withIndex { (index) throws(StoreError) in
                index.beforeChange = { () throws(StoreError) in
                    left -= 1
                    guard left == -1 else { return }
                    do { try end() } catch { failure = error }
                }
            }
            _ = try bench.cache.blocking.remove(target)
            try store.withIndex { (index) throws(StoreError) in index.beforeChange = nil }
            if let failure { throw failure }
            // The removal has no further transaction.
            let isLast = left >= 0
            if isLast { try end() }
            try partial?.keep()
            #expect(try store.entries(for: owned.entry.key).isEmpty, "step \(step)")
            #expect(try store.partial(for: owned.partial) == nil, "step \(step)")
            #expect(DiskUsage.files(at: store.paths.partials) == [], "step \(step)")
            if isLast { return }
        }
        Issue.record("the removal has no end")
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
