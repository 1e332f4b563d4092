import Foundation
import TestSupport
import Testing

@testable import DiskStore

private let block = Int(BlockMap.blockSize)

@Suite struct CapacityTests {
    @Test(arguments: [
        Int64(1) << 20, 4 << 20, 24 << 20,
    ])
    func `the disk usage of the directory never exceeds the capacity`(capacity: Int64) throws {
        var random = SeededGenerator(for: "capacity \(capacity)")
        let test = try StoreUnderTest(capacity: capacity)
        var stores = [test.store, try test.again()]
        var writers: [BodyWriter] = []
        var readers: [StoredBody] = []
        for step in 0..<160 {
            let store = stores[Int.random(in: 0..<stores.count, using: &random)]
            let key = "k\(Int.random(in: 0..<60, using: &random))"
            do {
                switch Int.random(in: 0..<20, using: &random) {
                case 0..<9: try store.put(key, pattern(Int.random(in: 0...40_000, using: &random)))
                case 9..<12: try store.put(key, pattern(Int.random(in: 0...Int(capacity / 6), using: &random)))
                case 12:
                    let writer = try store.beginBody(for: EntryKey(key))
                    let size = Int.random(in: 1...Int(capacity / 4), using: &random)
                    try writer.start(header: [1], total: Bool.random(using: &random) ? Int64(size) : nil)
                    try writer.write(pattern(size / 2))
                    writers.append(writer)
                case 13: if !writers.isEmpty { try writers.removeFirst().keep() }
                case 14: if !writers.isEmpty { writers.removeFirst() }
                case 15:
                    if let entry = try store.entries(for: EntryKey(key)).first, let body = try store.open(entry) {
                        try store.touch(entry)
                        readers.append(body)
                    }
                case 16: if !readers.isEmpty { readers.removeFirst() }
                case 17: try store.remove(EntryKey(key))
                case 18:
                    writers.removeAll()
                    stores[1].close()
                    stores[1] = try test.again()
                default: _ = try store.prune(to: capacity / 3)
                }
            } catch let error as StoreError where error.code == .full || error.code == .tooLarge {
                // Readers and writers may hold so much that nothing more fits.
                writers.removeAll()
                readers.removeAll()
            }
            let used = test.allocated
            #expect(used <= capacity, "step \(step)")
            if used > capacity { break }
            let statistics = try test.store.statistics()
            #expect(used <= statistics.usedBytes, "step \(step): more on disk than is accounted for")
        }
        #expect(try test.store.verify().failed == 0)
    }

    @Test func `the totals in the index agree with its rows after random operations`() async throws {
        var random = SeededGenerator(for: "totals")
        let test = try StoreUnderTest(capacity: 4 << 20)
        for _ in 0..<150 {
            let key = "k\(Int.random(in: 0..<30, using: &random))"
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<5: try test.store.put(key, pattern(Int.random(in: 0...100_000, using: &random)))
            case 5: try test.store.remove(EntryKey(key))
            case 6:
                let writer = try test.store.beginBody(for: EntryKey(key))
                try writer.start(header: [], total: Int64(Int.random(in: block...(2 * block), using: &random)))
                if Bool.random(using: &random) { try writer.keep() }
            default: try await test.store.sweep()
            }
        }
        try expectSums(test.store)
    }

    private func expectSums(_ store: DiskStore) throws {
        try store.withIndex { (index) throws(StoreError) in
            let totals = try index.readTotals()
            let database = try index.catalogue().connection
            #expect(try database.number("SELECT count(*) FROM entries") == totals.entries)
            #expect(try database.number("SELECT count(*) FROM access") == totals.entries)
            #expect(try database.number("SELECT ifnull(sum(allocated), 0) FROM entries") == totals.bodies)
            #expect(try database.number("SELECT ifnull(sum(reserved), 0) FROM partials") == totals.partials)
            #expect(try database.number("SELECT ifnull(sum(allocated), 0) FROM doomed") == totals.doomed)
            #expect(try database.number("SELECT ifnull(sum(allocated), 0) FROM folders") == totals.folders)
        }
    }

    @Test func `the total of reservations stays exact if another process changes one while it is claimed`() throws {
        let test = try StoreUnderTest()
        let other = try test.again()
        let first = try test.store.beginBody(for: EntryKey("part"))
        try first.start(header: [1], total: Int64(20 * block))
        try first.write(pattern(2 * block))
        try first.keep()
        let partial = { () throws -> PartialRow in
            let rows = try other.withIndex { (index) throws(StoreError) in try index.catalogue().partials.all() }
            return try #require(rows.first)
        }
        let row = try partial()
        let less = row.reserved - Int64(block)
        try test.store.withIndex { (index) throws(StoreError) in
            index.beforeChange = { () throws(StoreError) in
                index.beforeChange = nil
                try other.withIndex { (index) throws(StoreError) in
                    try index.setReserved(row.id, from: row.reserved, to: less)
                }
            }
        }
        let writer = try test.store.beginBody(for: EntryKey("part"))
        #expect(writer.partial?.reserved == less)
        try expectSums(other)
        try writer.keep()
        try expectSums(other)
        // Nor does a change by a process that takes another number for the present one.
        try other.withIndex { (index) throws(StoreError) in try index.setReserved(row.id, from: 1, to: 3 << 20) }
        #expect(try partial().reserved == 3 << 20)
        try expectSums(other)
    }

    enum Removal: CaseIterable {
        case keys, eachKey, matching, prune, clear

        func perform(_ store: DiskStore, _ keys: [EntryKey]) throws {
            switch self {
            case .keys: try store.remove(keys, invalidating: .everything)
            case .eachKey: for key in keys { try store.remove(key) }
            case .matching: try store.remove(invalidating: .everything) { _ in true }
            case .prune: _ = try store.prune(to: 0)
            case .clear: try store.clear()
            }
        }
    }

    @Test(arguments: Removal.allCases)
    func `the log stays within its allowance while many entries are removed`(removal: Removal) throws {
        let test = try StoreUnderTest(capacity: 4 << 20)
        for number in 0..<400 {
            try test.store.put("k\(number % 2)", [1], variant: "v\(number)", metadata: pattern(200))
        }
        #expect(try test.store.statistics().entries == 400)
        let log = test.store.paths.log
        var largest: Int64 = 0
        let look = { largest = max(largest, FileStatus(at: log)?.size ?? 0) }
        let allowance = try test.store.withIndex { (index) throws(StoreError) in
            index.beforeChange = { () throws(StoreError) in look() }
            return index.budget.logAllowance
        }
        try removal.perform(test.store, [EntryKey("k0"), EntryKey("k1")])
        look()
        #expect(largest > 0 && largest <= allowance)
        let statistics = try test.store.statistics()
        #expect(statistics.entries == 0 && statistics.doomedBytes == 0)
    }

    @Test func `a body that can never fit is refused before its first byte when its length is known`() throws {
        let test = try StoreUnderTest(capacity: 4 << 20)
        try test.store.put("other", pattern(1000))
        let writer = try test.store.beginBody(for: EntryKey("k"))
        let error = #expect(throws: StoreError.self) { try writer.start(header: [], total: 4 << 20) }
        #expect(error?.code == .tooLarge)
        #expect(try test.store.has("other"))
    }

    @Test func `a body of unknown length is refused at the limit, and leaves nothing`() throws {
        let test = try StoreUnderTest(capacity: 4 << 20)
        let writer = try test.store.beginBody(for: EntryKey("k"))
        try writer.start(header: [], total: nil)
        let chunk = pattern(100_000)
        let error = #expect(throws: StoreError.self) { for _ in 0..<60 { try writer.write(chunk) } }
        #expect(error?.code == .tooLarge)
        #expect(test.allocated <= 4 << 20)
        try writer.discard()
        #expect(DiskUsage.files(at: test.path + "/partials").isEmpty)
        try test.store.put("small", [1])
    }

    /// Writes a body of unknown length until it is refused.
    private func refusal(of store: DiskStore) throws -> StoreError? {
        let writer = try store.beginBody(for: EntryKey("endless"))
        try writer.start(header: [], total: nil)
        let chunk = pattern(100_000)
        let error = #expect(throws: StoreError.self) { for _ in 0..<400 { try writer.write(chunk) } }
        try writer.discard()
        return error
    }

    @Test func `a body of unknown length that does not fit evicts at most half, however often it is tried`() throws {
        let test = try StoreUnderTest(capacity: 32 << 20)
        for number in 0..<40 { try test.store.put("k\(number)", pattern(1_000_000)) }
        let before = try (0..<40).filter { try test.store.has("k\($0)") }
        let error = try #require(try refusal(of: test.store))
        #expect(error.code == .tooLarge)
        #expect(error.description.contains("more than ") && error.description.contains("(length unknown)"), "\(error)")
        let after = try before.filter { try test.store.has("k\($0)") }
        // The longest unused have gone.
        #expect(after.count >= before.count * 2 / 5 && after == before.suffix(after.count), "\(after) of \(before)")
        for _ in 0..<3 {
            #expect(try refusal(of: test.store)?.code == .tooLarge)
            #expect(try before.filter { try test.store.has("k\($0)") } == after)
        }
    }

    @Test func `a body of unknown length may have more than half of the capacity where that is free`() throws {
        let test = try StoreUnderTest(capacity: 32 << 20)
        try test.store.put("other", pattern(1_000_000))
        let body = pattern(24_000_000)
        let writer = try test.store.beginBody(for: EntryKey("large"))
        try writer.start(header: [], total: nil)
        try writer.write(body)
        _ = try writer.commit(NewEntry(key: EntryKey("large"), url: "", metadata: []))
        #expect(try test.store.read("large") == body)
        #expect(try test.store.has("other"))
    }

    @Test func `a body of a known length that can never fit evicts nothing`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        for number in 0..<20 { try test.store.put("k\(number)", pattern(200_000)) }
        for length in [8 << 20, 80 << 20] {
            let writer = try test.store.beginBody(for: EntryKey("large"))
            let error = #expect(throws: StoreError.self) { try writer.start(header: [], total: Int64(length)) }
            #expect(error?.code == .tooLarge && error?.description.contains("length unknown") == false)
            #expect(try (0..<20).allSatisfy { try test.store.has("k\($0)") })
        }
    }

    @Test func `a body that needs nearly all of the capacity evicts everything else and is stored`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        for number in 0..<20 { try test.store.put("k\(number)", pattern(200_000)) }
        let largest = try test.store.withIndex { (index) throws(StoreError) in try index.usage().largestBody }
        let body = pattern(Int(largest) - 64 * 1024)
        try test.store.put("big", body)
        #expect(try test.store.read("big") == body)
        #expect(test.allocated <= 8 << 20)
    }

    @Test func `space that writers have reserved counts before a byte is written`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        let first = try test.store.beginBody(for: EntryKey("a"))
        try first.start(header: [], total: 5 << 20)
        let second = try test.again().beginBody(for: EntryKey("b"))
        let error = #expect(throws: StoreError.self) { try second.start(header: [], total: 5 << 20) }
        #expect(error?.code == .full)
        try first.discard()
        try second.start(header: [], total: 5 << 20)
    }

    @Test func `a capacity below the minimum is refused with an error that states the minimum`() throws {
        let directory = try TestDirectory()
        let error = #expect(throws: StoreError.self) {
            try StoreUnderTest.open(directory.path("c"), capacity: (1 << 20) - 1)
        }
        #expect(error?.code == .invalidCapacity)
        #expect(error?.description.contains("1048576") == true)
    }

    @Test
    func `nothing is evicted if evicting cannot restore the minimum free space`() throws {
        let test = try StoreUnderTest(minimumFreeSpace: 0)
        try test.store.put("k", pattern(1000))
        let greedy = try StoreUnderTest.open(test.path, capacity: 64 << 20, Int64.max / 4, test.clock)
        let error = #expect(throws: StoreError.self) { try greedy.put("new", pattern(1000)) }
        #expect(error?.code == .full)
        #expect(try greedy.read("k") == pattern(1000))
    }

    @Test func `the next commit enforces a lowered capacity, including the index`() throws {
        let test = try StoreUnderTest(capacity: 32 << 20)
        for number in 0..<2000 { try test.store.put("k\(number)", pattern(8000), metadata: pattern(500)) }
        test.store.close()
        let capacity = Int64(3) << 20 + Int64(GenerationTable.byteCount)
        let small = try test.again(capacity: capacity)
        try small.put("new", pattern(1000))
        #expect(test.allocated <= capacity)
        #expect(try small.read("new") == pattern(1000))
        #expect(try small.statistics().entries > 5)
    }

    @Test func `the log's allowance, the number of folders and the reservation steps follow the capacity`() {
        let usual = Budget(capacity: 2 << 30)
        #expect(usual.checkpointPages == 16_000)
        #expect(usual.folders == 256)
        for capacity in [Int64(1) << 20, 4 << 20, 64 << 20, 2 << 30, 1 << 40] {
            let budget = Budget(capacity: capacity)
            #expect(budget.logAllowance + budget.fixedAllowance < capacity / 2)
            #expect(budget.goal <= capacity * 9 / 10)
            #expect(budget.folders * Budget.page <= capacity / 16)
            #expect(budget.reservationStep(held: 1 << 30) <= capacity / 16 + Budget.page)
        }
        #expect(Budget.rounded(0) == 0)
        #expect(Budget.rounded(1) == 4096)
        #expect(Budget.rounded(Int64.max) == Int64.max)
    }

    @Test func `an index that is larger than a lowered capacity shrinks to make room`() throws {
        let test = try StoreUnderTest(capacity: 64 << 20)
        let metadata = pattern(64 << 10)
        for number in 0..<150 { try test.store.put("k\(number)", [1], metadata: metadata) }
        let before = try test.store.withIndex { (index) throws(StoreError) in try index.usage() }
        #expect(before.indexPages * Budget.page > 8 << 20)
        test.store.close()

        let small = try test.again(capacity: 8 << 20)
        try small.put("new", pattern(1 << 20))
        #expect(try small.has("new"))
        #expect(try small.has("k149"), "no more goes than must")
        #expect(try !small.has("k0"))
        let after = try small.withIndex { (index) throws(StoreError) in try index.usage() }
        #expect(after.used <= 8 << 20)
        #expect(test.allocated <= 8 << 20)
        #expect(try small.verify().failed == 0)
    }
}
