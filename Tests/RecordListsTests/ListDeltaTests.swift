import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import RecordLists
import TestSupport
import Testing

/// Arrays of ids that are asked for by date: whole at first, then what changed since.
@Suite(.timeLimit) struct ListDeltaTests {
    private struct Server: Sendable {
        var array = #"[{"id":2,"modified":20},{"id":1,"modified":10}]"#
        /// The response to `If-Modified-Since`; `nil`: 304.
        var delta: String?
        var deltaStatus = HTTPResponse.Status.ok
        var lastModified: String? = "Tue, 14 Nov 2023 22:13:20 GMT"
        var version = 1
    }

    private let server = Locked(Server())
    private let bench: Bench

    init() throws {
        bench = try Bench { [server] request in
            let server = server.withLock { $0 }
            if request.path == "/ids" {
                var fields: HTTPFields = [.date: "Tue, 14 Nov 2023 23:00:00 GMT"]
                if let modified = server.lastModified { fields[.lastModified] = modified }
                guard request.fields[.ifModifiedSince] != nil else {
                    return ScriptedResponse(.ok, fields, body: Array(server.array.utf8))
                }
                guard let delta = server.delta else {
                    return ScriptedResponse(.notModified, fields, steps: [], length: nil)
                }
                return ScriptedResponse(server.deltaStatus, fields, body: Array(delta.utf8))
            }
            let ids = request.url.split(separator: "=").last?.split(separator: ",") ?? []
            let body = ids.map { #"{"id":\#($0),"version":\#(server.version)}"# }.joined(separator: ",")
            return ScriptedResponse(.ok, body: Array("[\(body)]".utf8))
        }
    }

    private func list() throws -> RecordList {
        var source = JSONListSource(
            ids: "http://origin.example/ids",
            page: { FileRequest("http://origin.example/page?ids=\($0.joined(separator: ","))") })
        source.usesIfModifiedSince = true
        source.minimumInterval = .zero
        return try bench.cache.list("inbox", source: source)
    }

    private func ids(_ list: RecordList) async throws -> [String] {
        try await list.records(sortedBy: .newest, limit: 99).records.map(\.id)
    }

    private var asked: [String?] {
        bench.transport.requests.filter { $0.path == "/ids" }.map { $0.fields[.ifModifiedSince] }
    }

    @Test func `the first array is complete, and later ones have only the changes`() async throws {
        let list = try list()
        #expect(try await list.sync().finish().records == 2)
        try await expectUnchanged(list)
        server.withLock {
            $0.delta = #"[{"id":3,"modified":30},{"id":1,"deleted":true}]"#
            $0.lastModified = "Wed, 15 Nov 2023 08:00:00 GMT"
        }
        let changed = try await list.sync().finish()
        #expect(changed.records == 1 && changed.removed == 1)
        #expect(try await ids(list) == ["3", "2"])
        server.withLock { $0.delta = nil }
        _ = try await list.sync().finish()
        let (first, second) = ("Tue, 14 Nov 2023 22:13:20 GMT", "Wed, 15 Nov 2023 08:00:00 GMT")
        #expect(asked == [nil, first, first, second])
    }

    private func expectUnchanged(_ list: RecordList) async throws {
        let summary = try await list.sync().finish()
        #expect(summary.askedServer && summary.records == 0 && summary.removed == 0 && summary.pending == 0)
    }

    @Test(arguments: [("", HTTPResponse.Status.ok), ("", .noContent), ("[]", .ok)])
    func `an empty response to a delta request means no change`(_ body: String, _ status: HTTPResponse.Status)
        async throws
    {
        let list = try list()
        try await list.sync().finish()
        server.withLock { ($0.delta, $0.deltaStatus) = (body, status) }
        try await expectUnchanged(list)
        #expect(try await ids(list) == ["2", "1"])
    }

    @Test func `ids without modification times that a delta names are fetched again`() async throws {
        server.withLock { $0.array = "[2,1]" }
        let list = try list()
        try await list.sync().finish()
        server.withLock {
            $0.delta = "[1]"
            $0.version = 2
        }
        #expect(try await list.sync().finish().records == 1)
        let bodies = try await list.records(limit: 9).records.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies == [#"{"id":2,"version":1}"#, #"{"id":1,"version":2}"#])
    }

    @Test func `without Last-Modified the next delta asks from a second before the response's date`() async throws {
        server.withLock { $0.lastModified = nil }
        let list = try list()
        try await list.sync().finish()
        try await list.sync().finish()
        #expect(asked == [nil, "Tue, 14 Nov 2023 22:59:59 GMT"])
    }

    @Test func `a delta is not served to other requests for the array`() async throws {
        let list = try list()
        try await list.sync().finish()
        server.withLock { $0.delta = #"[{"id":3,"modified":30}]"# }
        try await list.sync().finish()
        let file = try await bench.cache.file(for: "http://origin.example/ids")
        #expect(try Bench.body(of: file) == Body(Array(server.withLock { $0.array }.utf8)))
    }

    @Test func `a list that was removed starts with the whole array again`() async throws {
        let list = try list()
        try await list.sync().finish()
        server.withLock { $0.delta = #"[{"id":3,"modified":30}]"# }
        try await list.remove()
        #expect(try await list.sync().finish().records == 2)
        #expect(try await ids(list) == ["2", "1"])
        #expect(asked == [nil, nil])
    }

    @Test func `an invalid delta is an error, and the next sync asks from the same date`() async throws {
        let list = try list()
        try await list.sync().finish()
        server.withLock { $0.delta = #"[{"id":3,"modified":30},"# }
        await #expect(throws: ImageCacheError.self) { try await list.sync().finish() }
        #expect(try await ids(list) == ["2", "1"])
        server.withLock { $0.delta = #"[{"id":3,"modified":30}]"# }
        try await list.sync().finish()
        #expect(try await ids(list) == ["3", "2", "1"])
        #expect(Set(asked).count == 2)
    }
}
