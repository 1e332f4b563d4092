import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import RecordLists
import TestSupport
import Testing
import Transfer

@testable import DiskStore

/// `RecordList` over a scripted transport.
@Suite(.timeLimit) struct ListSyncTests {
    private let array = Locked(#"[{"id":3,"modified":30},{"id":2,"modified":20},{"id":1,"modified":10}]"#)
    private let bench: Bench

    init() throws {
        bench = try Bench { [array] request in
            if request.path == "/ids" {
                let text = array.withLock { $0 }
                return ScriptedRepresentation(Array(text.utf8), etag: "\"\(text.count)-\(text.hashValue)\"").response(
                    to: request)
            }
            let ids = request.url.split(separator: "=").last?.split(separator: ",") ?? []
            let body = ids.map { "\"\($0)\":{\"n\":\($0),\"name\":\"record \($0)\"}" }.joined(separator: ",")
            return ScriptedRepresentation(Array("{\(body)}".utf8), etag: nil).response(to: request)
        }
    }

    private func source(_ change: (inout JSONListSource) -> Void = { _ in }) -> JSONListSource {
        var source = JSONListSource(
            ids: "http://origin.example/ids",
            page: { FileRequest("http://origin.example/page?ids=\($0.joined(separator: ","))") })
        source.retryDelay = .zero
        change(&source)
        return source
    }

    private struct Row: Decodable, Equatable {
        var n: Int
        var name: String
    }

    @Test func `records come page by page, the newest first, and can be decoded and read`() async throws {
        let list = try bench.cache.list(
            "inbox", owner: "ann",
            source: source { source in
                source.pageSize = 2
                source.pagesAtOnce = 1
                source.sortKey = JSONPointer("/n")
            })
        var pages: [[String]] = []
        var summary: RecordListSummary?
        for try await change in list.sync() {
            switch change {
            case .records(let records): pages.append(records.map(\.id))
            case .finished(let all): summary = all
            default: break
            }
        }
        #expect(pages.map(Set.init) == [["3", "2"], ["1"]])
        #expect(summary?.records == 3 && summary?.pending == 0 && summary?.askedServer == true)
        #expect(bench.transport.requests.count == 3)
        let page = try await list.records(limit: 2)
        #expect(page.records.map(\.id) == ["3", "2"])
        #expect(try page.records[0].decoded(as: Row.self) == Row(n: 3, name: "record 3"))
        #expect(page.records[0].json == #"{"id":3,"modified":30,"record":{"n":3,"name":"record 3"}}"#)
        #expect(try await list.records(limit: 2, after: page.next).records.map(\.id) == ["1"])
        let range = ClosedRecordRange(from: .number(1.5))
        #expect(try await list.records(sortedBy: .key, in: range, limit: 9).records.map(\.id) == ["2", "3"])
        await #expect(throws: ImageCacheError.self) {
            try await list.records(sortedBy: .id, limit: 1, after: page.next)
        }
    }

    @Test func `the array is requested once per interval, and again if the clock was set back`() async throws {
        let list = try bench.cache.list("inbox", source: source())
        #expect(try await list.sync().finish().askedServer)
        #expect(try await !list.sync().finish().askedServer)
        bench.advance(seconds: 299)
        #expect(try await !list.sync().finish().askedServer)
        bench.advance(seconds: 2)
        #expect(try await list.sync().finish().askedServer)
        bench.advance(seconds: -1000)
        #expect(try await list.sync().finish().askedServer)
    }

    @Test(arguments: [0, 1, 100])
    func `the totals are known after an iteration`(_ changes: Int) async throws {
        let sync = try bench.cache.list("inbox", source: source()).sync()
        var left = changes
        for try await _ in sync {
            left -= 1
            if left <= 0 { break }
        }
        for _ in 0..<2 {
            let summary = try await sync.finish()
            #expect(summary.records == 3 && summary.askedServer)
        }
    }

    @Test func `an array of changes removes only the records that it names as deleted`() async throws {
        let list = try bench.cache.list(
            "inbox",
            source: source { source in
                source.ids.url = "http://origin.example/ids?since={since}"
                source.minimumInterval = .zero
            })
        #expect(try await list.sync().finish().records == 3)
        array.withLock { $0 = #"[{"id":4,"modified":40},{"id":1,"modified":41},{"id":2,"deleted":true}]"# }
        let summary = try await list.sync().finish()
        #expect(summary.records == 2 && summary.removed == 1)
        #expect(bench.transport.requests.filter { $0.path == "/ids" }.map(\.url).last?.hasSuffix("since=30") == true)
        #expect(try await list.records(sortedBy: .newest, limit: 9).records.map(\.id) == ["1", "4", "3"])
    }

    @Test func `lists of two groups are separate, and are removed with their group`() async throws {
        let one = try bench.cache.list("inbox", group: "work", owner: "ann", source: source())
        let other = try bench.cache.list("inbox", group: "home", owner: "ann", source: source())
        try await one.sync().finish()
        #expect(try await other.status() == nil)
        try await other.sync().finish()
        try await bench.cache.removeLists(inGroup: "work", owner: "ann")
        #expect(try await one.status() == nil)
        #expect(try await other.status()?.total == 3)
        try await bench.cache.remove(.owner("ann"))
        #expect(try await other.status() == nil)
    }

    @Test func `a sync that is dropped loses nothing`() async throws {
        let list = try bench.cache.list("inbox", source: source { $0.pageSize = 1 })
        for try await change in list.sync() {
            if case .records = change { break }
        }
        try await list.sync().finish()
        #expect(try await list.status()?.pending == 0)
        #expect(try await list.records(limit: 9).records.count == 3)
    }

    @Test func `the files of a list can be pinned as a set`() async throws {
        let bench = try Bench { request in
            switch request.path {
            case "/ids": ScriptedResponse(body: Array("[1,2]".utf8))
            case "/page":
                ScriptedResponse(
                    body: Array(#"[{"id":1,"images":["/a","/b"]},{"id":2,"images":["http://other.example/c"]}]"#.utf8))
            default: ScriptedRepresentation([1, 2, 3]).response(to: request)
            }
        }
        var source = JSONListSource(ids: "http://origin.example/ids") { _ in FileRequest("http://origin.example/page") }
        source.files = JSONListSource.files(
            at: [try #require(JSONPointer("/images"))], relativeTo: "http://origin.example/page")
        source.minimumInterval = .zero
        let list = try bench.cache.list("photos", group: "work", owner: "ann", source: source)
        try await list.sync().finish()
        let set = try #require(try await bench.cache.pins().first)
        #expect(set.name == "work/photos" && set.owner == "ann" && set.isOfList && set.total == 3 && set.present == 3)
        let files = bench.transport.requests.filter { $0.path.count == 2 }
        #expect(files.count == 3 && files.allSatisfy { $0.priority == .background })
        try await bench.cache.remove(.owner("ann"))
        #expect(try await bench.cache.pins().isEmpty)
    }

    // MARK: Interrupted syncs

    /// The ids that a sync reports as removed, and if it came to its end.
    private func removals(of list: RecordList) async -> (ids: [String], isComplete: Bool) {
        var ids: [String] = []
        do {
            for try await change in list.sync() {
                if case .removed(let removed) = change { ids += removed.map(\.id) }
            }
            return (ids, true)
        } catch { return (ids, false) }
    }

    @Test(arguments: [true, false])
    func `a sync that ends before one of its transactions leaves nothing of removed records to the next one`(
        asksAgain: Bool
    ) async throws {
        var isOver = false
        var limit = 0
        while !isOver {
            let ids = Locked("[1,2]")
            let bench = try Bench(.private, { $0.keepsPins = false }) { request in
                switch request.path {
                case "/ids":
                    let text = ids.withLock { $0 }
                    return ScriptedRepresentation(Array(text.utf8), etag: "\"\(text.count)\"").response(to: request)
                case "/page":
                    return ScriptedResponse(
                        body: Array(#"[{"id":1,"images":["/a","/b"]},{"id":2,"images":["/c"]}]"#.utf8))
                default: return ScriptedRepresentation([1, 2, 3]).response(to: request)
                }
            }
            var source = JSONListSource(ids: "http://origin.example/ids") { _ in
                FileRequest("http://origin.example/page")
            }
            source.files = JSONListSource.files(
                at: [try #require(JSONPointer("/images"))], relativeTo: "http://origin.example/page")
            let list = try bench.cache.list("photos", owner: "ann", source: source)
            #expect(try await list.sync().finish().records == 2)
            let store = bench.cache.blocking.store
            let left = Locked(limit)
            try store.withIndex { (index) throws(StoreError) in
                index.beforeChange = { () throws(StoreError) in
                    let isEnd = left.withLock { (left) -> Bool in
                        left -= 1
                        return left < 0
                    }
                    if isEnd { throw StoreError(.io, "the process ended") }
                }
            }
            ids.withLock { $0 = "[1]" }
            bench.advance(seconds: 301)
            let first = await removals(of: list)
            isOver = first.isComplete
            try store.withIndex { (index) throws(StoreError) in index.beforeChange = nil }
            // The server confirms the array, or is not asked.
            if asksAgain { bench.advance(seconds: 301) }
            let second = await removals(of: list)
            #expect(second.isComplete, "\(limit) transactions")
            #expect(first.ids + second.ids == ["2"], "\(limit) transactions")
            let set = try #require(try await bench.cache.pins().first)
            #expect(set.total == 2 && set.present == 2, "\(limit) transactions")
            #expect(try await list.records(limit: 9).records.map(\.id) == ["1"])
            // Each removed id is reported once.
            bench.advance(seconds: 301)
            #expect(await removals(of: list).ids.isEmpty)
            limit += 1
            try #require(limit < 100)
        }
        #expect(limit > 5)
    }
}
