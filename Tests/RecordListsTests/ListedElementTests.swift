import Testing

@testable import DiskStore
@testable import RecordLists

@Suite("Listed ids") struct ListedElementTests {
    private func recency(_ json: String) -> Int64 { ListedElement.recency(Array(json.utf8)) }

    @Test func `ids are ordered by their modification times in any notation`() {
        #expect(recency("1700000000") == 1_700_000_000_000)
        #expect(recency("1700000000.5") == 1_700_000_000_500)
        #expect(recency("\"2023-11-14T22:13:20Z\"") == 1_700_000_000_000)
        #expect(recency("\"2023-11-14T22:13:20.250Z\"") == 1_700_000_000_250)
        #expect(recency("\"Tue, 14 Nov 2023 22:13:20 GMT\"") == 1_700_000_000_000)
        #expect(recency("\"v7\"") == 0)
    }
}

@Suite("Pages of records") struct ListPageTests {
    @Test func `a page of records matches ids by their bytes`() throws {
        let ids = ["caf\u{E9}", "cafe\u{301}"]
        let asked = ids.map { id in
            PendingItem(item: ListedItem(id: id, isNumeric: false), place: .first(ofAttempt: 0), revision: 1)
        }
        let found = ids.reversed().map { (id: $0, body: Array($0.utf8)) }
        let page = try ListPage(found, asked: asked)
        #expect(page.records.count == 2 && page.missing.isEmpty)
        for record in page.records { #expect(Array(record.item.id.utf8) == record.body) }
        let one = try ListPage([found[0]], asked: asked)
        #expect(one.missing.map { Array($0.item.id.utf8) } == [Array(ids[0].utf8)])
    }
}
