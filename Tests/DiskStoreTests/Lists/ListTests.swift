import TestSupport
import Testing

@testable import DiskStore

/// A list in its own store.
struct ListUnderTest {
    let test: StoreUnderTest
    var name = ListName(owner: "ann", group: "", name: "inbox")
    /// The store after it was opened again.
    var migrated: DiskStore?
    var store: DiskStore { migrated ?? test.store }

    init() throws { test = try StoreUnderTest() }

    var state: ListState { get throws { try store.openList(name) } }

    @discardableResult
    func takeOver(_ ids: [(String, Int64)], isPartial: Bool = false, finishes: Bool = true) throws -> ListDifference? {
        let staging = try ListStaging(state, isPartial: isPartial, in: store)
        for (id, version) in ids {
            try staging.add(ListedItem(id: id, isNumeric: false, modified: "\(version)", recency: version))
        }
        return finishes ? try staging.finish(validator: "v") : nil
    }

    func pending(_ limit: Int = 10_000) throws -> [String] {
        try store.pending(of: state, after: .first(ofAttempt: 0), limit: limit).map(\.item.id)
    }

    /// Stores the records of all that is pending: each says its id and version.
    func settleAll() throws {
        let pending = try store.pending(of: state, after: .first(ofAttempt: 0), limit: 100_000)
        for start in stride(from: 0, to: pending.count, by: 500) {
            let part = pending[start..<min(pending.count, start + 500)]
            _ = try store.settle(part.map { record($0) }, missing: [], of: state)
        }
    }

    func record(_ asked: PendingItem) -> NewListRecord {
        let item = asked.item
        return NewListRecord(
            asked: asked, sortKey: .number(Double(item.recency)), body: Array("\(item.id)@\(item.modified)".utf8))
    }

    func records(_ order: ListOrder = .array) throws -> [String] {
        try store.records(of: state, ListPageRequest(order: order, limit: 100_000)).map {
            String(decoding: $0.record.body, as: UTF8.self)
        }
    }
}

@Suite("A list in the index") struct ListTests {
    private let list: ListUnderTest

    init() throws { list = try ListUnderTest() }

    @Test func `new and changed ids are pending, the newest first`() throws {
        try list.takeOver([("a", 1), ("b", 3), ("c", 2)])
        #expect(try list.pending() == ["b", "c", "a"])
        try list.settleAll()
        #expect(try list.pending() == [])
        #expect(try list.records() == ["a@1", "b@3", "c@2"])
        let difference = try list.takeOver([("d", 9), ("a", 1), ("c", 5)])
        #expect(difference == ListDifference(added: 1, changed: 1, removed: 1))
        #expect(try list.pending() == ["d", "c"])
        #expect(try list.records() == ["a@1", "c@2"])
        #expect(try list.records(.newest) == ["c@2", "a@1"])
        #expect(try list.state.items == 3)
    }

    @Test func `an array that was not finished changes nothing`() throws {
        try list.takeOver([("a", 1), ("b", 2)])
        try list.settleAll()
        try list.takeOver((0..<5000).map { ("x\($0)", 1) } + [("b", 7), ("a", 1)], finishes: false)
        #expect(try list.records() == ["a@1", "b@2"] && list.pending() == [])
        let difference = try list.takeOver([("b", 2), ("a", 1)])
        #expect(difference == ListDifference())
        #expect(try list.records() == ["b@2", "a@1"] && list.pending() == [])
        #expect(try list.state.items == 2)
    }

    @Test func `pending ids are merged with new ones, without duplicates`() throws {
        try list.takeOver((0..<10).map { ("\($0)", 10 - $0) })
        _ = try list.store.settle(
            list.store.pending(of: list.state, after: .first(ofAttempt: 0), limit: 3).map { list.record($0) },
            missing: [], of: list.state)
        try list.takeOver([("new", 20)] + (0..<10).map { ("\($0)", $0 == 5 ? 15 : 10 - $0) })
        #expect(try list.pending() == ["new", "5", "3", "4", "6", "7", "8", "9"])
    }

    @Test func `a sync that another one took over fails, and the other one counts`() throws {
        let staging = try ListStaging(list.state, isPartial: false, in: list.store)
        try staging.add(ListedItem(id: "old", isNumeric: false))
        try list.takeOver([("new", 1)])
        let error = #expect(throws: StoreError.self) { _ = try staging.finish(validator: "") }
        #expect(error?.code == .taken)
        #expect(try list.pending() == ["new"])
    }

    @Test func `a page older than the stored result of another sync changes nothing`() throws {
        try list.takeOver([("a", 1)])
        let late = try list.store.pending(of: list.state, after: .first(ofAttempt: 0), limit: 1).map { list.record($0) }
        try list.takeOver([("a", 2)])
        #expect(try list.store.settle(late, missing: [], of: list.state).isEmpty)
        #expect(try list.pending() == ["a"])
        try list.settleAll()
        #expect(try list.store.settle(late, missing: [], of: list.state).isEmpty)
        #expect(try list.records() == ["a@2"] && list.pending() == [])
    }

    @Test func `a page that is stored while the next array arrives does not settle the ids of that array`() throws {
        try list.takeOver([("a", 1)])
        let staging = try ListStaging(list.state, isPartial: false, windowSize: 2, in: list.store)
        for id in ["a", "b", "c"] { try staging.add(ListedItem(id: id, isNumeric: false, modified: "2", recency: 2)) }
        try list.settleAll()
        #expect(try list.records() == ["a@1"] && list.pending() == [])
        _ = try staging.finish(validator: "")
        #expect(Set(try list.pending()) == ["a", "b", "c"])
    }

    @Test func `ids that are equal only by canonical equivalence are two ids`() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try list.takeOver([(composed, 1), (decomposed, 2)])
        try list.settleAll()
        #expect(
            try list.records().map { Array($0.utf8) } == ["\(composed)@1", "\(decomposed)@2"].map { Array($0.utf8) })
        #expect(try list.takeOver([(decomposed, 2)])?.removed == 1)
        #expect(try list.records().map { Array($0.utf8) } == [Array("\(decomposed)@2".utf8)])
    }

    @Test(
        arguments: [PositionPlan.lowest, PositionPlan.lowest - 1, .min + PositionPlan.frontRoom, .min + 2] as [Int64])
    func `arrays are staged in order however many ids were put in front before`(first: Int64) throws {
        try list.takeOver([("a", 1), ("b", 1)])
        try list.store.withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                try index.catalogue().connection.execute("UPDATE list_items SET position = position + (\(first))")
            }
        }
        try list.takeOver([("c", 2)], isPartial: true)
        try list.settleAll()
        #expect(try list.records() == ["c@2", "a@1", "b@1"])
        try list.takeOver([("d", 3), ("c", 2), ("b", 1), ("e", 3)])
        try list.settleAll()
        #expect(try list.records() == ["d@3", "c@2", "b@1", "e@3"])
        try list.takeOver([("f", 4), ("g", 4)], isPartial: true)
        try list.settleAll()
        #expect(try list.records() == ["f@4", "g@4", "d@3", "c@2", "b@1", "e@3"])
    }

    @Test func `the records of many removed ids are deleted in steps`() throws {
        let batch = try list.store.withIndex { (index) throws(StoreError) in Int(index.listBatch) }
        let ids = (0..<2 * batch + 1).map { "\($0)" }
        try list.takeOver(ids.map { ($0, 1) })
        try list.settleAll()
        try list.takeOver([])
        let state = try list.state
        let seen = try list.store.transactions { try list.store.deleteRecords(ids, of: state) }
        #expect(seen.count == 3 && seen.mostInCall == 1)
        #expect(
            try list.store.removed(from: state, at: state.revision, after: 0, hasRemains: true, limit: 1).isEmpty)
    }

    @Test func `an array of changes marks its ids as changed, even without modification times`() throws {
        try list.takeOver([("a", 1), ("b", 1)])
        try list.settleAll()
        let staging = try ListStaging(list.state, isPartial: true, in: list.store)
        try staging.add(ListedItem(id: "a", isNumeric: false))
        try staging.add(ListedItem(id: "c", isNumeric: false))
        #expect(try staging.finish(validator: "") == ListDifference(added: 1, changed: 1, removed: 0))
        #expect(Set(try list.pending()) == ["a", "c"])
        #expect(try list.state.items == 3)
    }

    @Test func `a page is stored with the ids that it settles, or not at all`() throws {
        try list.takeOver([("a", 1), ("b", 2)])
        let pending = try list.store.pending(of: list.state, after: .first(ofAttempt: 0), limit: 10)
        try list.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute(
                """
                CREATE TEMP TRIGGER fails BEFORE INSERT ON list_records WHEN new.id = 'a' BEGIN
                    SELECT RAISE(ABORT, 'the second record of the page');
                END
                """)
        }
        #expect(throws: StoreError.self) {
            try list.store.settle(pending.map { list.record($0) }, missing: [], of: list.state)
        }
        #expect(try list.records() == [] && list.pending() == ["b", "a"])
    }

    @Test func `a list that is removed takes all of its rows with it`() throws {
        let state = try list.state
        try list.takeOver((0..<3000).map { ("\($0)", 1) })
        let asked = try list.store.pending(of: list.state, after: .first(ofAttempt: 0), limit: 1)
        try list.settleAll()
        #expect(try list.store.withIndex { (index) throws(StoreError) in try index.catalogue().lists.bytes() } > 0)
        try list.store.removeLists(owner: "ann")
        #expect(try list.store.list(list.name) == nil)
        #expect(try list.store.withIndex { (index) throws(StoreError) in try index.catalogue().lists.bytes() } == 0)
        #expect(throws: StoreError.self) {
            try list.store.settle(asked.map { list.record($0) }, missing: [], of: state)
        }
    }

    /// Stores records that name a file each, and some of the files.
    private func fill(_ count: Int) throws {
        try list.takeOver((0..<count).map { ("\($0)", 1) })
        let pending = try list.store.pending(of: list.state, after: .first(ofAttempt: 0), limit: count)
        for start in stride(from: 0, to: count, by: 100) {
            let records = pending[start..<min(count, start + 100)].map { asked in
                let id = asked.item.id
                var record = list.record(asked)
                record.files = [NewPin(key: EntryKey("file \(id)"), url: "http://test/\(id)", request: [])]
                return record
            }
            _ = try list.store.settle(records, missing: [], of: list.state)
        }
        for number in stride(from: 0, to: count, by: 4) { try list.store.put("file \(number)", pattern(10)) }
    }

    /// The bytes that rows of lists take, that pins hold, and that anybody holds.
    private func remains(in store: DiskStore) throws -> [Int64] {
        try store.withIndex { (index) throws(StoreError) in
            let catalogue = try index.catalogue()
            return [try catalogue.lists.bytes(), try catalogue.holds.pinnedBytes(), try index.readTotals().held]
        }
    }

    private var batch: Int {
        get throws { try list.store.withIndex { (index) throws(StoreError) in Int(index.listBatch) } }
    }

    @Test(arguments: [false, true])
    func `a list is removed in short transactions, with its pins`(byOwner: Bool) throws {
        try fill(300)
        #expect(try remains(in: list.store).allSatisfy { $0 > 0 })
        let seen = try list.store.transactions {
            if byOwner { try list.store.removeLists(owner: "ann") } else { try list.store.removeList(list.name) }
        }
        // The items, the records and the pins.
        #expect(try seen.mostInCall == 1 && seen.count > 3 * 300 / batch)
        #expect(try remains(in: list.store) == [0, 0, 0] && list.store.pinSets().isEmpty)
    }

    @Test(arguments: [1, 2, 4, 8, 12])
    func `a list whose removal is interrupted is gone, and the next sweep deletes its rows and pins`(
        _ limit: Int
    ) async throws {
        try fill(300)
        #expect(throws: StoreError.self) {
            try list.store.transactions(limit: limit) { try list.store.removeList(list.name) }
        }
        let again = try list.test.again()
        #expect(try again.list(list.name) == nil && again.pinSets().isEmpty)
        #expect(try remains(in: again)[0] > 0)
        try await again.sweep()
        #expect(try remains(in: again) == [0, 0, 0])
    }

    @Test func `an array that was not finished is undone, and a former one deleted, in short transactions`() throws {
        try list.takeOver((0..<300).map { ("\($0)", 1) })
        try list.settleAll()
        try list.takeOver((200..<300).map { ("\($0)", 1) })
        // Some of them are staged.
        let first = try list.store.transactions {
            try list.takeOver((1000..<3100).map { ("\($0)", 1) }, finishes: false)
        }
        #expect(try first.mostInCall == 1 && first.count > (200 + 1000) / batch)
        let second = try list.store.transactions { try list.takeOver([("200", 1)], finishes: false) }
        #expect(try second.mostInCall == 1 && second.count > 2 * 1000 / batch)
        #expect(try list.records().count == 100 && list.pending() == [])
    }

    @Test func `pages in every order follow one another, and each page costs one search in an index`() throws {
        try list.takeOver((0..<50).map { ("\($0)", ($0 * 37) % 11) })
        try list.settleAll()
        for order in [ListOrder.array, .newest, .id, .key] {
            for isDescending in [false, true] {
                var request = ListPageRequest(order: order, limit: 7)
                request.isDescending = isDescending
                var all: [String] = []
                while true {
                    let page = try list.store.records(of: list.state, request)
                    all += page.map(\.record.id)
                    guard let last = page.last else { break }
                    request.after = last.place
                }
                #expect(all.count == 50 && Set(all).count == 50, "\(order)")
                try expectSearches(request)
            }
        }
    }

    @Test func `a range of ids or keys is one search in an index, and respects its bounds`() throws {
        try list.takeOver((0..<50).map { ("\($0)", Int64($0)) })
        try list.settleAll()
        var request = ListPageRequest(order: .key, limit: 100)
        (request.lower, request.upper) = (.key(.number(10), id: ""), .key(.number(12), id: ""))
        #expect(try list.store.records(of: list.state, request).map(\.record.id) == ["10", "11", "12"])
        try expectSearches(request)
        request.order = .id
        (request.lower, request.upper) = (.id("3"), .id("31"))
        #expect(try list.store.records(of: list.state, request).map(\.record.id) == ["3", "30", "31"])
        try expectSearches(request)
    }

    private func expectSearches(_ request: ListPageRequest) throws {
        let sql = "EXPLAIN QUERY PLAN " + ListRecordTable.pageQuery(request).text
        try list.store.withIndex { (index) throws(StoreError) in
            let plan = try index.catalogue().connection.prepare(sql)
            defer { plan.finalize() }
            while try plan.step() {
                let step = plan.text(3)
                #expect(step.hasPrefix("SEARCH"), "\(request.order): \(step)")
            }
        }
    }

    @Test func `a list has the server's last state after random arrays, interruptions and pages`() throws {
        var generator = SeededGenerator(for: "ListTests")
        var listed: [(String, Int64)] = []
        for round in 0..<60 {
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                let place = Int.random(in: 0...listed.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0 where !listed.isEmpty: listed.remove(at: place % listed.count)
                case 1 where !listed.isEmpty: listed[place % listed.count].1 += 100
                case 2 where !listed.isEmpty: listed.insert(listed.remove(at: place % listed.count), at: 0)
                default:
                    listed.insert(
                        ("\(round).\(place).\(UInt32.random(in: 0...99_999, using: &generator))", Int64(round)),
                        at: place)
                }
            }
            let isCut = Int.random(in: 0..<4, using: &generator) == 0
            try list.takeOver(isCut ? Array(listed.prefix(listed.count / 2)) : listed, finishes: !isCut)
            if isCut { try list.takeOver(listed) }
            if Bool.random(using: &generator) { try list.settleAll() }
        }
        try list.settleAll()
        #expect(try list.records() == listed.map { "\($0.0)@\($0.1)" })
        #expect(try list.state.items == Int64(listed.count))
    }
}
