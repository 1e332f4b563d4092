import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Values that are decoded from responses.
@Suite(.timeLimit)
struct ValueTests {
    private struct User: Codable, Equatable, Sendable {
        var name: String
    }

    private static let ann = ScriptedRepresentation(Array(#"{"name":"Ann"}"#.utf8))
    private static let request = FileRequest(Bench.url)

    private func bench(
        in directory: TestDirectory? = nil, version: String? = nil,
        _ script: @escaping @Sendable (ScriptedRequest) -> ScriptedResponse = { ann.response(to: $0) }
    ) throws -> Bench {
        try Bench(in: directory, { $0.applicationVersion = version }, script: script)
    }

    @Test func `a value comes from the network, then from memory, and another process's from disk`() async throws {
        let bench = try bench()
        let first = try await bench.cache.value(for: Self.request, as: User.self)
        #expect(first.value == User(name: "Ann"))
        #expect(first.source == .response(.network))
        #expect(first.unusedReason == .missing)
        let second = try await bench.cache.value(for: Self.request, as: User.self)
        #expect(second.source == .memory)
        #expect(second.unusedReason == nil)
        let other = try self.bench(in: bench.directory)
        #expect(try await other.cache.value(for: Self.request, as: User.self).source == .response(.disk))
        #expect(bench.sent.count == 1)
    }

    @Test func `values leave memory under pressure, and are read from disk again`() async throws {
        let bench = try bench()
        _ = try await bench.cache.value(for: Self.request, as: User.self)
        #expect(bench.cache.valueStatistics.bytes > 0)
        bench.cache.respond(to: .critical)
        #expect(bench.cache.valueStatistics.bytes == 0)
        #expect(try await bench.cache.value(for: Self.request, as: User.self).source == .response(.disk))
    }

    @Test func `a stale value is confirmed before it is used again`() async throws {
        let bench = try bench()
        _ = try await bench.cache.value(for: Self.request, as: User.self)
        bench.advance(seconds: 100)
        let value = try await bench.cache.value(for: Self.request, as: User.self)
        #expect(value.source == .response(.revalidated))
        #expect(value.unusedReason == .stale)
    }

    @Test func `a new version of a value type invalidates stored values at once`() async throws {
        let bench = try bench()
        for version in ["1", "1", "2", "2"] {
            _ = try await bench.cache.value(for: Self.request, as: User.self, version: version)
        }
        #expect(bench.sent.count == 2)
        let third = try await bench.cache.value(for: Self.request, as: User.self, version: "3")
        #expect(third.unusedReason == .version)
        #expect(try await bench.cache.entries().count == 1)
    }

    @Test func `the first use of a new version removes stored values of the old one`() async throws {
        let bench = try bench()
        let old = (1...3).map { FileRequest(Bench.url + "\($0)") }
        for request in old { _ = try await bench.cache.value(for: request, as: User.self, version: "1") }
        _ = try await bench.cache.value(for: FileRequest(Bench.url + "4"), as: [String: String].self, version: "1")
        _ = try await bench.cache.file(for: FileRequest(Bench.url + "5"))
        let next = try self.bench(in: bench.directory)
        _ = try await next.cache.value(for: Self.request, as: User.self, version: "2")
        while try await next.cache.entries().count > 3 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(
            try await Set(next.cache.entries().map(\.url)) == [Bench.url, Bench.url + "4", Bench.url + "5"])
    }

    @Test func `a new version of the application removes stored values of the old one`() async throws {
        let bench = try bench(version: "5")
        _ = try await bench.cache.value(for: Self.request, as: User.self)
        _ = try await bench.cache.value(for: FileRequest(Bench.url + "2"), as: User.self)
        _ = try await bench.cache.file(for: FileRequest(Bench.url + "3"))
        try await bench.cache.store(User(name: "Bob"), for: "bob")
        await bench.cache.close()
        let next = try self.bench(in: bench.directory, version: "6")
        #expect(try await next.cache.value(for: Self.request, as: User.self).source == .response(.network))
        #expect(try await next.cache.value(forKey: "bob", as: User.self).value == nil)
        // Plain files do not depend on the application's version.
        while try await next.cache.entries().count > 2 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await Set(next.cache.entries().map(\.url)) == [Bench.url, Bench.url + "3"])
    }

    @Test func `a removal in another process ends the value in memory`() async throws {
        let bench = try bench()
        _ = try await bench.cache.value(for: Self.request, as: User.self)
        let other = try self.bench(in: bench.directory)
        #expect(try await other.cache.remove(Self.request).entries == 1)
        #expect(try await bench.cache.value(for: Self.request, as: User.self).source == .response(.network))
    }

    @Test func `no value is used without revalidation after the clock stepped back`() async throws {
        let bench = try bench()
        _ = try await bench.cache.value(for: Self.request, as: User.self)
        bench.advance(seconds: -1000)
        let value = try await bench.cache.value(for: Self.request, as: User.self)
        #expect(value.source == .response(.revalidated))
        #expect(value.unusedReason == .clock)
    }

    @Test func `a stored body that cannot be decoded is fetched again once`() async throws {
        let bench = try bench { request in
            var representation = Self.ann
            if request.number == 1 { representation.bytes = Array("<html>".utf8) }
            return representation.response(to: request)
        }
        _ = try await bench.cache.file(for: Self.request)
        let value = try await bench.cache.value(for: Self.request, as: User.self)
        #expect(value.value == User(name: "Ann"))
        #expect(value.unusedReason == .damaged)
        #expect(bench.sent.count == 2)
    }

    @Test(arguments: [false, true])
    func `a stored body that cannot be decoded is not fetched again if the request forbids it`(
        isByField: Bool
    ) async throws {
        let bench = try bench { _ in ScriptedResponse(.ok, [.cacheControl: "max-age=60"], body: [1]) }
        _ = try await bench.cache.file(for: Self.request)
        var request = Self.request
        if isByField {
            request.fields[.cacheControl] = "only-if-cached"
        } else {
            request.policy = .returnCacheDataDontLoad
        }
        let asked = request
        let error = await #expect(throws: ImageCacheError.self) {
            _ = try await bench.cache.value(for: asked, as: User.self)
        }
        #expect(error?.code == .undecodableValue)
        #expect(bench.sent.count == 1)
    }

    @Test func `a body that cannot be decoded is an error with its cause`() async throws {
        let bench = try bench { _ in ScriptedResponse(.ok, [.cacheControl: "max-age=60"], body: [1]) }
        do {
            _ = try await bench.cache.value(for: Self.request, as: User.self)
            Issue.record("was decoded")
        } catch {
            #expect(error.code == .undecodableValue)
            #expect(error.cause is DecodingError)
        }
    }

    @Test(arguments: [true, false])
    func `the transfer of a body above the limit for values ends`(_ hasLength: Bool) async throws {
        let bench = try Bench(.private, { $0.maxValueSize = 10 }) { _ in
            ScriptedResponse(
                .ok, [.cacheControl: "max-age=60"], steps: Array(repeating: .bytes([1, 2, 3, 4]), count: 100),
                length: hasLength ? 400 : nil)
        }
        let error = await #expect(throws: ImageCacheError.self) {
            _ = try await bench.cache.value(for: Self.request, as: User.self)
        }
        #expect(error?.code == .store(.tooLarge))
        #expect(bench.cache.transferTotals.bytesReceived <= 10)
    }

    @Test func `a stored body above the limit for values is refused`() async throws {
        let bench = try Bench(.private, { $0.maxValueSize = 10 }, script: { Self.ann.response(to: $0) })
        _ = try await bench.cache.file(for: Self.request)
        await #expect(throws: ImageCacheError.self) {
            _ = try await bench.cache.value(for: Self.request, as: User.self)
        }
    }

    @Test func `owners have separate values, and an entry of another owner is reported as the reason`() async throws {
        let bench = try bench()
        _ = try await bench.cache.value(for: Self.request, as: User.self)
        var owned = Self.request
        owned.owner = "ann"
        let value = try await bench.cache.value(for: owned, as: User.self)
        #expect(value.source == .response(.network))
        #expect(value.unusedReason == .owner)
    }

    @Test func `a body that was changed on disk is reported as damaged`() async throws {
        let bench = try bench()
        let file = try await bench.cache.file(for: Self.request)
        #expect(chmod(file.path, 0o600) == 0)
        try Data("short".utf8).write(to: URL(filePath: file.path))
        let other = try self.bench(in: bench.directory)
        let again = try await other.cache.file(for: Self.request)
        #expect(again.source == .network)
        #expect(again.unusedReason == .damaged)
    }

    @Test func `only small data is kept in memory`() async throws {
        let bench = try bench { request in
            let size = request.path == "/a" ? 256 << 10 : 256 << 10 + 1
            return ScriptedRepresentation(ScriptedRepresentation.bytes(size)).response(to: request)
        }
        for (url, source) in [
            (Bench.url, CachedValue<Data>.Source.memory), (Bench.url + "b", .response(.disk)),
        ] {
            let first = try await bench.cache.data(for: FileRequest(url))
            let second = try await bench.cache.data(for: FileRequest(url))
            #expect(second.source == source)
            #expect(second.value == first.value)
        }
    }

    @Test func `a small file's look-up is in memory until it is removed, replaced or evicted`() async throws {
        let bench = try bench()
        for _ in 0..<3 { _ = try await bench.cache.file(for: Self.request) }
        #expect(bench.cache.valueStatistics.counts.hits > 0)
        let other = try self.bench(in: bench.directory)
        _ = try await other.cache.prune(to: 0)
        #expect(try await bench.cache.file(for: Self.request).source == .network)
        for _ in 0..<2 { _ = try await bench.cache.file(for: Self.request) }
        try await other.cache.remove(Self.request)
        #expect(try await bench.cache.file(for: Self.request).source == .network)
        bench.advance(seconds: 100)
        #expect(try await bench.cache.file(for: Self.request).source == .revalidated)
    }

    @Test func `a small file that is fresh for ever comes from memory`() async throws {
        let bench = try bench()
        var request = Self.request
        request.freshnessOverride = FreshnessOverride(seconds: .max)
        for _ in 0..<3 { _ = try await bench.cache.file(for: request) }
        #expect(bench.cache.valueStatistics.counts.hits > 0)
        let left = try await bench.cache.file(for: request).cacheStatus.timeToLive
        #expect(try #require(left) > 1_000_000_000)
        #expect(bench.sent.count == 1)
    }

    @Test func `text is decoded by its charset`() async throws {
        let bench = try bench { _ in
            ScriptedResponse(
                .ok, [.cacheControl: "max-age=60", .contentType: "text/plain; charset=\"ISO-8859-1\""], body: [0xE9])
        }
        #expect(try await bench.cache.text(for: Self.request).value == "é")
    }
}
