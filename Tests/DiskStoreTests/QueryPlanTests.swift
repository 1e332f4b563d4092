import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

@testable import DiskStore

/// The plans that SQLite has for the statements of the catalogue: what a statement reads must not grow with the store.
@Suite struct QueryPlanTests {
    private let test: StoreUnderTest

    init() throws {
        test = try StoreUnderTest()
        try test.store.index.withLock { index in
            try index.ensureOpen()
            let connection = try index.catalogue().connection
            for (table, values) in Self.rows {
                try connection.execute(
                    """
                    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
                    INSERT INTO \(table) SELECT \(values) FROM numbers
                    """)
            }
        }
    }

    /// Rows of each table that grows, with a number from 1 to 3,000 as `n`.
    private static let rows = [
        "entries": "n, n, 'k' || n, '', 'u' || n, 1, 4096, x'00', 0, n, x'00', n, '1', 't', '1', randomblob(32)",
        "access": "n, n, n, n % 2",
        "partials": "n, 1, n, 'k' || n, 1, n",
        "doomed": "n, 4096",
        "holds": "n, 0, 4096",
        "lists": "n, 'o' || n, '', 'l', 1, 0, 3000, 3000, 0, ''",
        "list_items": "n, 1, 'i' || n, 0, n, -n, '', 1, 9223372036854775807",
        "list_records": "n, 1, 'i' || n, '', n, randomblob(8), x'00'",
        "list_pending": "1, 0, -n, n, 'i' || n, 1, 0",
        "pin_sets": "n, 'o' || n, 0, 's', -1, -1, 0",
        "pins": "n, 1, 'i' || n, n, 'k' || n, 'u' || n, x'00', 0, ''",
    ]

    /// Steps that read more than a search: what the statement has in it, and the beginning of the step.
    private static let exceptions: [(statement: String, step: String)] = [
        // Has one row.
        ("SELECT bytes FROM list_totals", "SCAN list_totals"),
        // Read the first row, or as many as their limits, in the order of an index.
        ("SELECT list FROM list_garbage LIMIT 1", "SCAN list_garbage"),
        ("SELECT position", "SEARCH list_items USING COVERING INDEX list_items_by_position (list=?)"),
        ("SELECT i.modified", "SEARCH i USING INDEX list_items_by_age (list=?)"),
        ("ORDER BY r.id", "SEARCH r USING INDEX list_records_by_id (list=?)"),
        ("ORDER BY r.sort_key", "SEARCH r USING INDEX list_records_by_key (list=?)"),
        ("ORDER BY a.sequence LIMIT ?1", "SEARCH a USING INDEX access_by_sequence (pinned=?)"),
        // Delete all that they read.
        ("DELETE FROM list_items", "SEARCH list_items USING COVERING INDEX list_items_by_position (list=?)"),
        ("DELETE FROM list_items", "SEARCH list_items USING COVERING INDEX list_items_by_since (list=? AND since>?)"),
        ("DELETE FROM list_records", "SEARCH list_records USING COVERING INDEX list_records_by_change (list=?)"),
        ("WHERE (list, id) IN", "SEARCH list_pending USING COVERING INDEX list_pending_by_id (list=?)"),
        ("DELETE FROM pins", "SEARCH pins USING COVERING INDEX pins_by_set (pin_set=?)"),
        // The index has only items that new arrays have ended, and that are not deleted yet.
        ("until", "SEARCH e USING INDEX list_items_ended (list=? AND until<?)"),
        ("until", "SEARCH list_items USING INDEX list_items_ended (list=? AND until<?)"),
        ("until", "SEARCH list_items USING COVERING INDEX list_items_ended (list=? AND until>? AND until<?)"),
        // Give all that there are: lists, sets, unfinished downloads.
        ("ORDER BY owner, list_group, name", "SCAN l USING INDEX lists_by_name"),
        ("ORDER BY owner, list, name", "SCAN s USING INDEX pin_sets_by_name"),
        ("WHERE list = ?1 AND list > 0", "SCAN pin_sets USING COVERING INDEX pin_sets_by_name"),
        ("FROM partials ORDER BY updated, id", "SCAN partials"),
        ("FROM partials ORDER BY updated, id", "USE TEMP B-TREE FOR ORDER BY"),
        // Sort only as many as their limits.
        ("FROM partials WHERE (updated, id)", "SCAN partials"),
        ("FROM partials WHERE (updated, id)", "USE TEMP B-TREE FOR ORDER BY"),
        // A key has few partials, and no more variants than the limits allow.
        ("FROM partials WHERE key_hash", "USE TEMP B-TREE FOR ORDER BY"),
        ("ORDER BY a.sequence LIMIT ?3", "USE TEMP B-TREE FOR ORDER BY"),
        // Sums that callers ask for.
        ("SELECT count(*) FROM partials", "SCAN partials USING COVERING INDEX partials_by_key"),
        ("SELECT count(*), sum(", "SEARCH p USING INDEX pins_by_set (pin_set=?)"),
        ("SELECT ifnull(sum(allocated), 0)", "SEARCH holds USING INDEX holds_by_run (run=?)"),
        ("SELECT (SELECT count(*) FROM list_pending", "SEARCH p USING PRIMARY KEY (list=?)"),
        ("SELECT (SELECT count(*) FROM list_pending", "USE TEMP B-TREE FOR count(DISTINCT)"),
        // Read a whole set, queue or run for each of their steps.
        ("SELECT p.pin, ", "SEARCH p USING INDEX pins_by_set (pin_set=?)"),
        ("SELECT p.pin, ", "USE TEMP B-TREE FOR ORDER BY"),
        ("since > ?2", "SEARCH list_pending USING PRIMARY KEY (list=?)"),
        ("renewed > ?2", "SEARCH list_pending USING PRIMARY KEY (list=?)"),
        ("DELETE FROM holds WHERE run", "SEARCH holds USING COVERING INDEX holds_by_run (run=?)"),
    ]

    /// A step of the plan of a statement.
    private struct Step {
        let statement: String
        /// As SQLite words it: "SEARCH i USING INDEX list_items_by_id (list=? AND id=?)".
        let text: String

        /// True if it may read as many rows as the table has, or as a list, a set of pins or a run has.
        var growsWithStore: Bool {
            if text.hasPrefix("SCAN ") { return text != "SCAN CONSTANT ROW" }
            if text.hasPrefix("USE TEMP B-TREE") { return true }
            guard text.hasPrefix("SEARCH ") else { return false }
            let terms = text.drop { $0 != "(" }.dropFirst().dropLast().components(separatedBy: " AND ")
            // Nearly all items of a list have begun and not ended; a range of ids is no search for one.
            let ranges = text.contains("list_items_by_id") ? Self.ranges + ["id>?", "id<?"] : Self.ranges
            return Set(terms).isSubset(of: ["list=?", "pin_set=?", "run=?", "pinned=?"] + ranges)
        }

        private static let ranges = ["since>?", "since<?", "until>?", "until<?"]
    }

    /// The plans of all statements, as SQLite makes them for the store's own connection.
    private func plans() throws -> [(statement: String, steps: [Step])] {
        try test.store.index.withLock { index in
            let catalogue = try index.catalogue()
            try runAll(catalogue)
            let statements = catalogue.connection.statements.keys.map(\.text)
            return try statements.filter { statement in
                !["PRAGMA", "BEGIN", "COMMIT", "ROLLBACK"].contains(where: statement.hasPrefix)
            }.map { ($0, try plan(of: $0, catalogue)) }
        }
    }

    @Test func `no statement scans a whole table, list or set, except for the listed ones`() throws {
        let plans = try plans()
        // A new statement must be among those that run here.
        #expect(plans.count > 120)
        var unused = Self.exceptions
        for step in plans.flatMap(\.steps) where step.growsWithStore {
            let isKnown = Self.exceptions.contains { step.statement.contains($0.statement) && step.text == $0.step }
            #expect(isKnown, "\(step.text): \(step.statement)")
            unused.removeAll { step.statement.contains($0.statement) && step.text == $0.step }
        }
        #expect(unused.isEmpty, "no statement has these steps: \(unused)")
    }

    @Test func `a search for one id of a list uses the index on ids`() throws {
        let searches = try plans().filter { plan in
            plan.statement.contains("list_items") && plan.statement.contains(#/[in]\.id = |AND id = /#)
        }
        #expect(searches.count > 30)
        for search in searches {
            let isFound = search.steps.contains { $0.text.contains("list_items_by_id (list=? AND id=?") }
            #expect(isFound, "\(search.steps.map(\.text)): \(search.statement)")
        }
    }

    private func plan(of statement: String, _ catalogue: Catalogue) throws -> [Step] {
        let plan = try catalogue.connection.prepare("EXPLAIN QUERY PLAN \(statement)")
        defer { plan.finalize() }
        var steps: [Step] = []
        while try plan.step() { steps.append(Step(statement: statement, text: plan.text(3))) }
        return steps
    }

    /// Runs every statement of every table.
    private func runAll(_ catalogue: Catalogue) throws {
        try runStatementsOnBodies(catalogue)
        try runStatementsOnListsAndPins(catalogue)
    }

    private func runStatementsOnBodies(_ catalogue: Catalogue) throws {
        let (entries, key) = (catalogue.entries, EntryKey("k1"))
        // Entries
        for withAccess in [false, true] { _ = try entries.variants(of: key, withAccess: withAccess) }
        _ = try entries.variants(of: key, limit: 3)
        _ = try entries.entry(of: key, variant: "")
        _ = try entries.entry(of: key, afterVariant: "")
        _ = try entries.entry(1)
        _ = try entries.entries(sha256: [1], limit: 16)
        _ = try entries.contains(1)
        _ = try entries.urls(before: 100, limit: 10)
        _ = try entries.variantCount(of: key)
        _ = try entries.oldestVariants(of: key, count: 1)
        let body = FinishedBody(size: 1, allocated: 4096, checksum: .none, boot: 0)
        let new = NewEntry(key: EntryKey("new"), url: "u", metadata: [])
        try entries.insert(new, body, id: 5000, created: 1, sequence: 5000, expires: nil)
        #expect(try entries.save(metadata: [1], of: 5000))
        try entries.save(variant: "v", of: 5000)
        try entries.save(1, of: 5000)
        try entries.replace(1, by: 2, of: 5000)
        try entries.noteUse(of: 5000, sequence: 5001, date: 1)
        try entries.save(isPinned: true, of: 5000)
        #expect(try entries.isPinned(5000))
        _ = try entries.longestUnused(limit: 10)
        for sparingPins in [false, true] {
            _ = try entries.byUse(after: .min, before: .max, sparingPins: sparingPins, limit: 10)
            _ = try entries.numbers(after: .min, before: .max, sparingPins: sparingPins, limit: 10)
        }
        _ = try entries.expired(at: 10, limit: 10)
        _ = try entries.entries(ofOtherVersionsThan: "2", limit: 10)
        _ = try entries.entries(ofOtherFormatsThan: ValueFormat(type: "t", version: "2"), limit: 10)
        _ = try entries.dates(after: 0, limit: 10)
        #expect(try entries.delete(5000) != nil)
        // Deleted bodies, holds
        try catalogue.deletedBodies.insert(5000, allocated: 4096)
        _ = try catalogue.deletedBodies.contains(5000)
        _ = try catalogue.deletedBodies.numbers(after: 0, limit: 10)
        _ = try catalogue.deletedBodies.delete(5000)
        try catalogue.holds.insert(1, run: 7, allocated: 4096)
        _ = try catalogue.holds.holders(of: 1)
        _ = try catalogue.holds.run(after: 0)
        _ = try catalogue.holds.delete(ofRun: 7, limit: 10)
        // Partials
        try catalogue.partials.insert(PartialRow(id: 5000, claim: 1, key: key, reserved: 1, updated: 1))
        _ = try catalogue.partials.partial(5000)
        _ = try catalogue.partials.partials(of: key)
        _ = try catalogue.partials.all()
        _ = try catalogue.partials.longestIdle(after: nil, before: .max, limit: 10)
        _ = try catalogue.partials.partials(after: 0, limit: 10)
        _ = try catalogue.partials.count()
        try catalogue.partials.save(claim: 2, ofPartial: 5000, updated: 2)
        _ = try catalogue.partials.save(reserved: 2, ofPartial: 5000, updated: 3)
        try catalogue.partials.disown(5000)
        _ = try catalogue.partials.delete(5000)
        // Totals, folders, settings
        try catalogue.save(try catalogue.totals())
        _ = try catalogue.size(ofFolder: 1)
        try catalogue.save(size: 4096, ofFolder: 1)
        try catalogue.save(1, named: "a")
        _ = try catalogue.number(named: "a")
        try catalogue.save(nil, named: "a")
    }

    private func runStatementsOnListsAndPins(_ catalogue: Catalogue) throws {
        let (list, key) = (Int64(1), EntryKey("k1"))
        let name = ListName(owner: "o", group: "g", name: "n")
        let item = ListedItem(id: "new", isNumeric: false)
        // Lists
        _ = try catalogue.lists.list(name)
        _ = try catalogue.lists.list(list)
        try catalogue.lists.insert(name, id: 5000)
        _ = try catalogue.lists.all()
        _ = try catalogue.lists.lists(owner: "o", group: nil)
        try catalogue.lists.saveChecked(1, ofList: list)
        _ = try catalogue.lists.bytes()
        _ = try catalogue.listItems.newestModified(ofList: list)
        try catalogue.lists.saveChange(1, ofList: list)
        _ = try catalogue.listRecords.records(ofList: list, afterChange: 0, limit: 10)
        for order in [ListOrder.array, .newest, .id, .key] {
            for isDescending in [false, true] {
                // With each combination of a place to go on at and bounds.
                for combination in 0..<8 {
                    var request = ListPageRequest(order: order, limit: 10)
                    request.isDescending = isDescending
                    if combination & 1 != 0 { request.after = Self.place(in: order) }
                    if combination & 2 != 0 { request.lower = Self.place(in: order) }
                    if combination & 4 != 0 { request.upper = Self.place(in: order) }
                    _ = try catalogue.listRecords.page(ofList: list, request)
                }
            }
        }
        _ = try catalogue.listRecords.record("i1", ofList: list)
        // Pending
        _ = try catalogue.pendingItems.count(ofList: list)
        let pending = try catalogue.pendingItems.items(ofList: list, after: .first(ofAttempt: 0), limit: 10)
        _ = try catalogue.listItems.item("i1", ofList: list)
        let record = NewListRecord(asked: try #require(pending.first), sortKey: .number(1), body: [1])
        try catalogue.listRecords.insert(record, list: list, change: 1)
        try catalogue.pendingItems.noteAttempt("i3", ofList: list)
        _ = try catalogue.pendingItems.forgetAttempts(ofList: list, limit: 10)
        try catalogue.pendingItems.insert(item, list: list, position: 1, since: 1)
        #expect(try catalogue.pendingItems.settle("i3", ofList: list, askedBy: 1))
        try catalogue.pendingItems.insert(ListedItem(id: "i4", isNumeric: false), list: list, position: 1, since: 9)
        #expect(try catalogue.pendingItems.settle("i4", ofList: list, askedBy: 1))
        // Staging
        _ = try catalogue.lists.staging(ofList: list)
        try catalogue.lists.saveStaging(1, ofList: list)
        _ = try catalogue.listItems.rows("i1", ofList: list)
        _ = try catalogue.listItems.firstPosition(ofList: list)
        try catalogue.listItems.insert(item, list: list, position: 1, since: 2)
        try catalogue.listItems.end(1, at: 1)
        _ = try catalogue.listItems.rows(ofList: list, after: 0, 0, limit: 10)
        for hasRemains in [false, true] {
            _ = try catalogue.listItems.removed(fromList: list, at: 1, after: 0, hasRemains: hasRemains, limit: 10)
        }
        _ = try catalogue.listItems.ended(inList: list, upTo: 1, limit: 10)
        _ = try catalogue.listItems.contains("i1", inList: list)
        try catalogue.listItems.delete(1)
        _ = try catalogue.listItems.deleteStaged(ofList: list, since: 1, limit: 10)
        _ = try catalogue.listItems.reopen(ofList: list, until: 1, limit: 10)
        while try catalogue.pendingItems.undo(ofList: list, since: 1, limit: 10) {}
        try catalogue.lists.takeOver(list: list, revision: 2, items: 1, validator: "", checked: 1)
        // Pins
        let pin = NewPin(key: key, url: "u", request: [])
        _ = try catalogue.pins.set(owner: "o", name: "n")
        _ = try catalogue.pins.set(ofList: list)
        _ = try catalogue.pins.sets()
        _ = try catalogue.pins.sets(owner: "o")
        try catalogue.pins.insert(NewPinSet(owner: "o", name: "n"), list: 0)
        _ = try catalogue.pins.count(try #require(try catalogue.pins.set(1)))
        try catalogue.pins.noteComplete(1)
        try catalogue.pins.insert(pin, set: 1, record: "")
        _ = try catalogue.pins.members(ofSet: 1, after: 0, limit: 10)
        _ = try catalogue.pins.failedMembers(ofSet: 1)
        try catalogue.pins.save(checked: nil, error: "", ofPin: 1)
        try catalogue.pins.deleteMember(1)
        _ = try catalogue.pins.contains(key)
        _ = try catalogue.pins.maxStale(of: key)
        _ = try catalogue.holds.pinnedBytes()
        try catalogue.entries.save(isPinned: true, of: 1)
        _ = try catalogue.holds.delete(1, run: 0)
        _ = try catalogue.pins.deleteMembers(ofSet: 1, record: "i3")
        _ = try catalogue.pins.deleteMembers(ofSet: 1, limit: 10)
        try catalogue.pins.deleteSet(1)
        // Garbage
        try catalogue.lists.discard(list)
        _ = try catalogue.lists.garbage()
        while try catalogue.lists.deleteGarbage(ofList: list, limit: 10_000) {}
    }

    private static func place(in order: ListOrder) -> ListPlace {
        switch order {
        case .array: .array(position: 1)
        case .newest: .newest(age: 1, position: 1)
        case .id: .id("i1")
        case .key: .key(.number(1), id: "i1")
        }
    }
}
