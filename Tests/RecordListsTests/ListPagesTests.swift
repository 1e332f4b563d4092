import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import RecordLists
import TestSupport
import Testing

/// The order in which a sync asks, delivers and stores: arrays and pages in all their forms.
@Suite(.timeLimit) struct ListPagesTests {
    private struct Server: Sendable {
        var array = "[" + (1...10).map { "\($0)" }.joined(separator: ",") + "]"
        var arrayFields: HTTPFields = [.eTag: "\"1\""]
        /// Pages that have this id wait for the gate.
        var held: String?
        var isObject = false
        var emptyStatus = HTTPResponse.Status.ok
    }

    private let server = Locked(Server())
    private let gate = AsyncGate()
    private let bench: Bench

    init() throws {
        bench = try Bench { [server, gate] request in
            let server = server.withLock { $0 }
            if request.path == "/ids" {
                let asked = request.fields[.ifNoneMatch] ?? request.fields[.ifModifiedSince]
                if let asked, asked == server.arrayFields[.eTag] || asked == server.arrayFields[.lastModified] {
                    return ScriptedResponse(.notModified, server.arrayFields, steps: [], length: nil)
                }
                return ScriptedResponse(
                    server.array.isEmpty ? server.emptyStatus : .ok, server.arrayFields, body: Array(server.array.utf8))
            }
            let ids = (request.url.split(separator: "=").last ?? "").split(separator: ",").map(String.init)
            let records = ids.map { id in
                let name = id.allSatisfy(\.isNumber) ? id : "\"\(id)\""
                return server.isObject ? "\"\(id)\":{\"n\":1}" : "{\"id\":\(name),\"n\":1}"
            }
            let text = records.joined(separator: ",")
            let response = ScriptedResponse(body: Array((server.isObject ? "{\(text)}" : "[\(text)]").utf8))
            return server.held.map { ids.contains($0) } == true ? response.after(gate) : response
        }
    }

    private func list(_ change: (inout JSONListSource) -> Void = { _ in }) throws -> RecordList {
        var source = JSONListSource(
            ids: "http://origin.example/ids",
            page: { FileRequest("http://origin.example/page?ids=\($0.joined(separator: ","))") })
        source.minimumInterval = .zero
        change(&source)
        return try bench.cache.list("inbox", source: source)
    }

    private var pages: [String] {
        bench.transport.requests.filter { $0.path == "/page" }.map { String($0.url.split(separator: "=")[1]) }
    }

    @Test func `the first page is delivered while later ones are loading, and progress is reported`() async throws {
        server.withLock { $0.held = "3" }
        let list = try list { ($0.pageSize, $0.pagesAtOnce) = (2, 2) }
        var delivered: [String] = []
        var progress: [RecordListProgress] = []
        for try await change in list.sync() {
            switch change {
            case .records(let records):
                delivered += records.map(\.id)
                if delivered.count == 2 {
                    #expect(delivered == ["1", "2"])
                    #expect(try await list.records(limit: 9).records.map(\.id) == ["1", "2"])
                    gate.open()
                }
            case .progress(let now): progress.append(now)
            default: break
            }
        }
        #expect(Set(delivered) == Set((1...10).map(String.init)))
        #expect(progress.map(\.stored) == [2, 4, 6, 8, 10])
        // Two pages run at a time, so the other one may be complete but not yet reported.
        #expect(zip(progress, progress.dropFirst()).allSatisfy { $0.pending >= $1.pending })
        #expect(progress.allSatisfy { $0.pending <= 10 - $0.stored })
        #expect(progress.first?.pending == 8 && progress.last?.pending == 0)
    }

    @Test(arguments: [Int.min, 0, .max])
    func `a sync ends with the last record, however many attempts it may make`(_ attempts: Int) async throws {
        let list = try list { $0.attempts = attempts }
        #expect(try await list.sync().finish().records == 10)
        #expect(pages.count == 1)
    }

    /// A page of the suite's origin as lines: whatever they are, they are the records.
    private static func lines(_ page: [UInt8]) -> [(id: String, body: [UInt8])] {
        page.split(separator: UInt8(ascii: "}")).filter { $0.count > 1 }.map { part in
            let digits = part.drop { !(48...57).contains($0) }.prefix { (48...57).contains($0) }
            return (String(decoding: digits, as: UTF8.self), [0, 0xFF] + digits)
        }
    }

    @Test func `a source turns a page into records of any bytes`() async throws {
        let list = try list { $0.records = Self.lines }
        #expect(try await list.sync().finish().records == 10)
        let records = try await list.records(limit: 3).records
        #expect(records.map(\.body) == [[0, 0xFF, 0x31], [0, 0xFF, 0x32], [0, 0xFF, 0x33]])
    }

    @Test(arguments: [true, false])
    func `a source that throws or returns an unrequested record ends the sync with the page's URL`(
        throwing: Bool
    ) async throws {
        struct Fault: Error {}
        let list = try list {
            $0.records = { _ in if throwing { throw Fault() } else { return [("99", [1])] } }
        }
        let error = await #expect(throws: ImageCacheError.self) { try await list.sync().finish() }
        #expect(
            error?.code == .wrongBytes && error?.url?.contains("/page?ids=1,2") == true, "\(String(describing: error))")
        #expect(try await list.records(limit: 3).records.isEmpty)
    }

    @Test func `as many pages load at once as the source allows, the newest first`() async throws {
        let list = try list { ($0.pageSize, $0.pagesAtOnce) = (1, 4) }
        server.withLock { $0.held = "4" }
        let sync = Task { try await list.sync().finish() }
        // Three that were answered make room for three more; the held one keeps its place.
        await bench.transport.requests { requests in requests.count { $0.path == "/page" } == 10 }
        // The page n is asked for when n - 4 were answered, in whatever order the requests of four tasks are sent.
        for (place, page) in pages.enumerated() { #expect(try #require(Int(page)) <= place + 4, "\(pages)") }
        gate.open()
        #expect(try await sync.value.records == 10)
        #expect(pages.count == 10)
    }

    @Test func `a page has 100 ids unless the source says otherwise`() async throws {
        server.withLock { $0.array = "[" + (1...250).map { "\($0)" }.joined(separator: ",") + "]" }
        try await list().sync().finish()
        #expect(pages.map { $0.split(separator: ",").count }.sorted() == [50, 100, 100])
        #expect(try list().source?.minimumInterval == .zero)
        #expect(JSONListSource(ids: "http://a/") { _ in "http://a/" }.minimumInterval == .seconds(300))
    }

    @Test(arguments: [
        ("[3,1]", ["3", "1"]), (#"["b","a"]"#, ["b", "a"]), (#"[{"id":7},{"id":"x","modified":5}]"#, ["7", "x"]),
        (#"[{"id":1,"modified":"2023-11-14T22:13:20Z"},{"id":2,"modified":1700000001}]"#, ["1", "2"]),
    ])
    func `an array has numbers, texts or objects, and a page is an array or an object`(
        _ array: String, _ ids: [String]
    ) async throws {
        for isObject in [false, true] {
            server.withLock { ($0.array, $0.isObject, $0.arrayFields) = (array, isObject, [:]) }
            let list = try list()
            try await list.remove()
            #expect(try await list.sync().finish().records == 2, "\(isObject)")
            #expect(try await list.records(limit: 9).records.map(\.id) == ids)
        }
    }

    @Test(
        arguments: [
            [.eTag: "\"7\""], [.lastModified: "Tue, 14 Nov 2023 22:13:20 GMT"], [.eTag: "W/\"7\""],
        ] as [HTTPFields])
    func `the array is revalidated with its validator`(_ fields: HTTPFields) async throws {
        server.withLock { $0.arrayFields = fields }
        let list = try list()
        try await list.sync().finish()
        #expect(try await list.sync().finish().records == 0)
        let second = try #require(bench.transport.requests.last)
        #expect(second.fields[.ifNoneMatch] == fields[.eTag])
        #expect(second.fields[.ifModifiedSince] == fields[.lastModified])
        #expect(bench.transport.requests.count == 3)
    }

    @Test(arguments: [HTTPResponse.Status.ok, .noContent])
    func `an empty response changes nothing, and an empty array removes all records`(_ status: HTTPResponse.Status)
        async throws
    {
        server.withLock { $0.arrayFields = [:] }
        let list = try list()
        try await list.sync().finish()
        server.withLock { ($0.array, $0.emptyStatus) = ("", status) }
        #expect(try await list.sync().finish().removed == 0)
        #expect(try await list.status()?.total == 10)
        server.withLock { $0.array = "[]" }
        #expect(try await list.sync().finish().removed == 10)
        #expect(try await list.records(limit: 9).records.isEmpty)
    }

    @Test func `a second sync in the process joins the one that runs`() async throws {
        server.withLock { $0.held = "3" }
        let list = try list { ($0.pageSize, $0.pagesAtOnce, $0.minimumInterval) = (2, 2, .seconds(300)) }
        let first = Task { try await list.sync().finish() }
        await bench.transport.requests { requests in requests.contains { $0.path == "/page" } }
        let second = Task {
            var ids: Set<String> = []
            for try await change in list.sync() {
                if case .records(let records) = change { ids.formUnion(records.map(\.id)) }
            }
            return ids
        }
        gate.open()
        #expect(try await first.value.records == 10)
        // Records that were stored before the subscription are not reported again.
        #expect(try await second.value.isSubset(of: Set((1...10).map(String.init))))
        #expect(bench.transport.requests.filter { $0.path == "/ids" }.count == 1)
        #expect(pages.count == 5)
    }

    @Test func `an array that is cut removes nothing`() async throws {
        let list = try list()
        try await list.sync().finish()
        server.withLock { server in
            server.array = "[1]"
            server.arrayFields = [.eTag: "\"2\"", .contentLength: "400"]
        }
        await #expect(throws: ImageCacheError.self) { try await list.sync().finish() }
        #expect(try await list.records(limit: 99).records.count == 10)
    }

    @Test(arguments: [
        ("\n\n  {}", "line 3, byte 4: an array of ids is expected"),
        ("[1,\n\n {\"a\":1}]", "line 3, byte 6: an id, or an object with an \"id\", is expected"),
        ("[1,\n2,\n", "line 3, byte 7: the text ends in the middle of a value"),
        ("[1,\n2;", "line 2, byte 5: ';' is not expected here"),
    ])
    func `invalid input is reported with its position`(_ array: String, _ message: String) async throws {
        server.withLock { ($0.array, $0.arrayFields) = (array, [:]) }
        let list = try list()
        let error = await #expect(throws: ImageCacheError.self) { try await list.sync().finish() }
        #expect(error?.code == .wrongBytes && error?.url == "http://origin.example/ids")
        #expect(error?.message == "the list of ids is wrong at \(message)")
        #expect(try await list.status()?.total == 0)
    }
}
