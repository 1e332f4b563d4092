import TestSupport
import Testing
import TextIdentity

@testable import DiskStore

/// A random history of one list that a server changes and two processes sync, with a model of the expected state.
///
/// A process may end before any of its write transactions, its array may be cut, and the other process may act before any of them. Pages
/// are fetched now and stored at any later time.
final class ListHistory {
    struct Item: Equatable {
        var id: ByteText
        /// Grows over all ids.
        var version: Int64
    }

    /// Records as they were at the server, on their way to the store.
    private struct Page {
        var records: [NewListRecord]
        var missing: [String]
    }

    private var generator: SeededGenerator
    private let name: ListName
    private var stores: [DiskStore]
    private let reopen: () throws -> DiskStore
    /// The server tells modification times.
    private let hasTimes: Bool
    private let windowSize: Int

    private var server: [Item] = []
    private var version: Int64 = 0
    /// The array that was taken over last.
    private var listed: [Item] = []
    /// The oldest version that a record may have without being pending.
    private var needed: [ByteText: Int64] = [:]
    private var pages: [Page] = []
    private var removals: [[String]] = []
    private(set) var tally = Tally()

    struct Tally {
        var arrays = 0
        var stops = 0
        var breaks = 0
        var takeovers = 0

        static func += (sum: inout Tally, other: Tally) {
            sum.arrays += other.arrays
            sum.stops += other.stops
            sum.breaks += other.breaks
            sum.takeovers += other.takeovers
        }
    }

    /// Thrown where a process ends.
    private static let stop = StoreError(.io, "the process ends here")

    /// Ids that differ in their bytes, some of them only in these.
    private static let ids =
        (["caf\u{E9}", "cafe\u{301}", "\u{212B}", "\u{C5}", "A\u{30A}"] + (0..<18).map(String.init))
        .map(\.asBytes)

    init(_ name: ListName, seed: UInt64, stores: [DiskStore], reopen: @escaping () throws -> DiskStore) {
        generator = SeededGenerator(seed: seed)
        hasTimes = Int.random(in: 0..<4, using: &generator) > 0
        windowSize = Int.random(in: 2...9, using: &generator)
        self.name = name
        self.stores = stores
        self.reopen = reopen
    }

    /// - Returns: The stores, to be used by the next history.
    func run(steps: Int) throws -> [DiskStore] {
        for _ in 0..<steps {
            if chance(2, of: 3) { changeServer() }
            try act(chance(1, of: 2) ? 0 : 1, hasRival: true)
            try check()
        }
        try end()
        return stores
    }

    private func chance(_ share: Int, of whole: Int) -> Bool { Int.random(in: 0..<whole, using: &generator) < share }

    private func changeServer() {
        for _ in 0..<Int.random(in: 0...8, using: &generator) {
            version += 1
            let place = Int.random(in: 0...server.count, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0 where !server.isEmpty: server.remove(at: place % server.count)
            case 1 where !server.isEmpty: server[place % server.count].version = version
            case 2 where !server.isEmpty:
                server.insert(server.remove(at: place % server.count), at: min(place, server.count))
            default:
                guard
                    let id = Self.ids.filter({ id in !server.contains { $0.id == id } }).randomElement(
                        using: &generator)
                else { continue }
                server.insert(Item(id: id, version: version), at: place)
            }
        }
        if chance(1, of: 30) { server.shuffle(using: &generator) }
        if chance(1, of: 30) { server.removeAll() }
    }

    // MARK: Processes

    /// - Parameter hasRival: The other process may act before one of this one's transactions.
    private func act(_ process: Int, hasRival: Bool) throws {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<4: try interrupted(process, hasRival) { try sync(process, isPartial: false) }
        case 4..<6: try interrupted(process, hasRival) { try sync(process, isPartial: true) }
        case 6: try fetchPage(process)
        case 7: try interrupted(process, hasRival) { try settlePage(process) }
        case 8: try interrupted(process, hasRival) { try deleteRemoved(process) }
        default:
            stores[process].close()
            stores[process] = try reopen()
        }
    }

    /// Runs what a process does, which may end before one of its transactions.
    private func interrupted(_ process: Int, _ hasRival: Bool, _ body: () throws -> Void) throws {
        var left = chance(1, of: 2) ? Int.random(in: 0..<25, using: &generator) : Int.max
        var untilRival = hasRival && chance(1, of: 3) ? Int.random(in: 0..<25, using: &generator) : Int.max
        var failure: (any Error)?
        let hook: () throws(StoreError) -> Void = { () throws(StoreError) in
            if left == 0 { throw Self.stop }
            left -= 1
            untilRival -= 1
            if untilRival == 0 {
                do { try self.act(1 - process, hasRival: false) } catch { failure = error }
            }
        }
        withoutActuallyEscaping(hook) { hook in
            try? stores[process].withIndex { (index) throws(StoreError) in index.beforeChange = hook }
            do { try body() } catch { failure = failure ?? error }
            try? stores[process].withIndex { (index) throws(StoreError) in index.beforeChange = nil }
        }
        switch failure {
        case let error as StoreError where error.code == .taken: tally.takeovers += 1
        case let error as StoreError where error.message == Self.stop.message: tally.stops += 1
        case let error?: throw error
        case nil: break
        }
    }

    private func sync(_ process: Int, isPartial: Bool) throws {
        let store = stores[process]
        let state = try store.openList(name)
        let known = listed
        let array = isPartial ? server.filter { !known.contains($0) } : server
        let deleted = isPartial ? known.map(\.id).filter { id in !server.contains { $0.id == id } } : []
        let end = chance(1, of: 4) ? Int.random(in: 0...array.count, using: &generator) : nil
        let staging = try ListStaging(state, isPartial: isPartial, windowSize: windowSize, in: store)
        for id in deleted where end == nil || chance(1, of: 2) { try staging.remove(id.wrappedValue) }
        for item in array.prefix(end ?? array.count) {
            try staging.add(
                ListedItem(
                    id: item.id.wrappedValue, isNumeric: false, modified: hasTimes ? "\(item.version)" : "",
                    recency: hasTimes ? item.version : 0))
            // One that comes twice counts once.
            if chance(1, of: 20) {
                try staging.add(ListedItem(id: array[0].id.wrappedValue, isNumeric: false, modified: "0", recency: 0))
            }
        }
        if end != nil {
            tally.breaks += 1
            return
        }
        _ = try staging.finish(validator: "v")
        tally.arrays += 1
        takeOver(array, deleted: Set(deleted), isPartial: isPartial)
    }

    private func takeOver(_ array: [Item], deleted: Set<ByteText>, isPartial: Bool) {
        let former = Dictionary(uniqueKeysWithValues: listed.map { ($0.id, $0.version) })
        for item in array where former[item.id] == nil || (hasTimes ? former[item.id] != item.version : isPartial) {
            needed[item.id] = item.version
        }
        if isPartial {
            let named = Dictionary(uniqueKeysWithValues: array.map { ($0.id, $0) })
            let kept = listed.filter { !deleted.contains($0.id) }.map { named[$0.id] ?? $0 }
            listed = array.filter { former[$0.id] == nil } + kept
        } else {
            listed = array
        }
        let ids = Set(listed.map(\.id))
        needed = needed.filter { ids.contains($0.key) }
    }

    private func fetchPage(_ process: Int) throws {
        let store = stores[process]
        let limit = Int.random(in: 1...8, using: &generator)
        let pending = try store.pending(of: store.openList(name), after: .first(ofAttempt: 0), limit: limit)
        var page = Page(records: [], missing: [])
        for asked in pending {
            if let item = server.first(where: { $0.id == asked.item.id.asBytes }) {
                let body = Array("\(asked.item.id)@\(item.version)".utf8)
                page.records.append(NewListRecord(asked: asked, sortKey: .none, body: body))
            } else {
                page.missing.append(asked.item.id)
            }
        }
        pages.append(page)
    }

    private func settlePage(_ process: Int) throws {
        if pages.isEmpty { return }
        let page = pages.remove(at: Int.random(in: 0..<pages.count, using: &generator))
        // A page that was received twice, by processes that asked for the same.
        if chance(1, of: 3) { pages.append(page) }
        _ = try stores[process].settle(page.records, missing: page.missing, of: stores[process].openList(name))
    }

    private func deleteRemoved(_ process: Int) throws {
        let store = stores[process]
        let state = try store.openList(name)
        removals.append(try store.removed(from: state, at: state.revision, after: 0, limit: 50).map(\.listed.id))
        if chance(1, of: 2) {
            let ids = removals.remove(at: Int.random(in: 0..<removals.count, using: &generator))
            try store.deleteRecords(ids, of: state)
        }
    }

    // MARK: What must hold

    private struct Broken: Error, CustomStringConvertible { var description: String }

    private func expect(_ holds: Bool, _ description: @autoclosure () -> String) throws {
        if !holds { throw Broken(description: description()) }
    }

    private func check() throws {
        let store = stores[0]
        let state = try store.openList(name)
        let rows = try liveRows(state)
        try expect(rows.map(\.id) == listed.map(\.id), "listed: \(rows.map(\.id.wrappedValue)), not \(listed)")
        if hasTimes {
            try expect(rows.map(\.modified) == listed.map { "\($0.version)" }, "modified: \(rows), not \(listed)")
        }
        try expect(state.items == Int64(listed.count), "counted: \(state.items), not \(listed.count)")
        let pending = try store.pending(of: state, after: .first(ofAttempt: 0), limit: 1000).map(\.item.id.asBytes)
        let ids = Set(listed.map(\.id))
        try expect(Set(pending).count == pending.count && ids.isSuperset(of: pending), "pending: \(pending)")
        try expect(try store.pendingCount(of: state) == Int64(pending.count), "the count of pending ids")
        let records = try stored(state)
        for item in listed where !pending.contains(item.id) {
            let record = records.first { $0.id == item.id }
            try expect(
                record.map { $0.version >= needed[item.id] ?? .max } ?? false, "\(item): \(String(describing: record))")
        }
    }

    /// The records in the order of the array; each says in its body whose it is.
    private func stored(_ state: ListState) throws -> [Item] {
        try stores[0].records(of: state, ListPageRequest(order: .array, limit: 1000)).map { record, _ in
            let parts = String(decoding: record.body, as: UTF8.self).split(separator: "@")
            let item = Item(id: ByteText(parts[0]), version: Int64(parts[1]) ?? -1)
            try expect(record.id.asBytes == item.id, "the record of \(record.id) is that of \(item.id.wrappedValue)")
            return item
        }
    }

    private func liveRows(_ state: ListState) throws -> [(id: ByteText, modified: String)] {
        try stores[0].withIndex { (index) throws(StoreError) in
            try index.catalogue().listItems.rows(
                """
                SELECT id, modified FROM list_items WHERE list = ?1 AND since <= ?2 AND until > ?2 ORDER BY position
                """, { $0.bind(1, state.list).bind(2, state.revision) }, row: { ($0.text(0).asBytes, $0.text(1)) })
        }
    }

    /// The next complete sync brings what the server has, and leaves nothing of what was before.
    private func end() throws {
        if !hasTimes { try sync(0, complete: true) }
        try sync(chance(1, of: 2) ? 0 : 1, complete: false)
        try check()
        while true {
            pages = []
            try fetchPage(0)
            guard let page = pages.first, !page.records.isEmpty else { break }
            let stored = try stores[0].settle(page.records, missing: [], of: stores[0].openList(name))
            try expect(stored.count == page.records.count, "a page that settles nothing")
        }
        try check()
        let state = try stores[0].openList(name)
        try expect(try stores[0].pendingCount(of: state) == 0, "nothing is pending at the end")
        let records = try stored(state)
        try expect(records.map(\.id) == server.map(\.id), "records: \(records), not \(server)")
        if hasTimes { try expect(records == server, "records: \(records), not \(server)") }
        // The next array deletes the leftovers of the last one when it begins.
        _ = try ListStaging(state, isPartial: false, in: stores[1])
        let rows = try ["list_items", "list_records", "list_pending"].map { table in
            try stores[0].withIndex { (index) throws(StoreError) in
                try index.catalogue().connection.number("SELECT count(*) FROM \(table) WHERE list = \(state.list)")
            }
        }
        try expect(rows == [Int64(server.count), Int64(server.count), 0], "rows: \(rows) of \(server.count) ids")
    }

    /// A sync that nothing disturbs.
    private func sync(_ process: Int, complete isPartial: Bool) throws {
        let state = try stores[process].openList(name)
        let array = isPartial ? server.filter { !listed.contains($0) } : server
        let deleted = isPartial ? listed.map(\.id).filter { id in !server.contains { $0.id == id } } : []
        let staging = try ListStaging(state, isPartial: isPartial, windowSize: windowSize, in: stores[process])
        for id in deleted { try staging.remove(id.wrappedValue) }
        for item in array {
            try staging.add(
                ListedItem(
                    id: item.id.wrappedValue, isNumeric: false, modified: hasTimes ? "\(item.version)" : "",
                    recency: hasTimes ? item.version : 0))
        }
        _ = try staging.finish(validator: "v")
        takeOver(array, deleted: Set(deleted), isPartial: isPartial)
    }
}
