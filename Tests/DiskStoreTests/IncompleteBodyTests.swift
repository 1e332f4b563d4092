import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

@testable import DiskStore

/// Partials of which single blocks are written and read.
@Suite struct IncompleteBodyTests {
    private static let block = BlockMap.blockSize
    private static let total = 40 * block + 1000
    private let test: StoreUnderTest
    private let key = EntryKey("a")
    private let body = pattern(Int(total))

    init() throws { test = try StoreUnderTest() }

    private var epoch: Generation.Epoch { test.store.generation(of: "http://test/a").epoch }

    private func made() throws -> IncompleteBody {
        try test.store.makeIncomplete(for: key, header: [7, 8], total: Self.total, in: epoch)
    }

    private func reopened() throws -> IncompleteBody? { try test.store.openIncomplete(for: key, in: epoch) }

    private func range(_ block: Int64) -> Range<Int64> { BlockMap.range(of: block, total: Self.total) }

    private func write(_ blocks: [Int64], to incomplete: IncompleteBody) throws {
        for block in blocks {
            let range = range(block)
            try incomplete.reserve([range])
            try body[Int(range.lowerBound)..<Int(range.upperBound)].withUnsafeBytes {
                try incomplete.write($0, at: range.lowerBound)
            }
        }
    }

    @Test func `blocks in any order are present after a reopening, and only their space is taken`() throws {
        let incomplete = try made()
        try write([40, 3, 7, 8], to: incomplete)
        #expect(incomplete.availableEnd(from: 7 * Self.block + 5) == 9 * Self.block)
        #expect(incomplete.availableEnd(from: 40 * Self.block) == Self.total)
        #expect(incomplete.heldBytes(before: 8 * Self.block + 10, upTo: .max) == Self.block + 10)
        try incomplete.keep()
        let again = try #require(try reopened())
        #expect(again.header == [7, 8] && again.total == Self.total)
        #expect(again.missing(in: 6 * Self.block..<10 * Self.block) == [range(6), range(9)])
        // Not verified yet.
        #expect(again.availableEnd(from: 7 * Self.block) == 7 * Self.block)
        try again.verify(7 * Self.block..<9 * Self.block)
        #expect(again.availableEnd(from: 7 * Self.block) == 9 * Self.block)
        try again.keep()
        #expect(test.allocated < 6 * Self.block + 1 << 20)
        #expect(try test.store.statistics().entries == 0)
    }

    @Test func `a body can always be continued while others look at it`() async throws {
        try made().keep()
        let others = try [test.again(), test.again()]
        let isOver = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, other) in others.enumerated() {
                group.addTask { [key] in
                    while !isOver.withLock({ $0 }) {
                        if number == 0 { _ = try other.partials() } else { _ = try other.partial(for: key) }
                    }
                }
            }
            defer { isOver.withLock { $0 = true } }
            for _ in 0..<200 {
                let again = try #require(try reopened(), "it was taken for one in use")
                #expect(try test.store.partial(for: key)?.isInUse == true)
                try again.keep()
            }
        }
        #expect(try test.store.partials().count == 1)
    }

    @Test func `looking at a body keeps no lock`() throws {
        try made().keep()
        let key = key
        let rows: [PartialRow] = try test.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().partials.partials(of: key)
        }
        let row = try #require(rows.first)
        let files = try #require(try test.store.openFiles(of: row))
        let seemsInUse = try test.store.withIndex { (index) throws(StoreError) in
            try index.seemsInUse(row, files.data)
        }
        #expect(!seemsInUse)
        // The file is still open.
        let writer = try #require(try reopened())
        let isInUse = try test.store.withIndex { (index) throws(StoreError) in try index.seemsInUse(row, files.data) }
        #expect(isInUse)
        #expect(try reopened() == nil)
        try writer.discard()
        withExtendedLifetime(files) {}
    }

    @Test(arguments: [1 << 30, 1 << 40, IncompleteBody.longest])
    func `the length that an origin claims costs neither time nor memory`(claimed: Int64) throws {
        let incomplete = try test.store.makeIncomplete(for: key, header: [7], total: claimed, in: epoch)
        let (first, last) = (0..<Self.block, claimed - Self.block..<claimed)
        try incomplete.reserve([first])
        try body[0..<Int(Self.block)].withUnsafeBytes { try incomplete.write($0, at: 0) }
        #expect(!incomplete.isComplete)
        #expect(incomplete.missing(in: 0..<claimed) == [Self.block..<claimed])
        #expect(incomplete.missing(in: last) == [last] && incomplete.missing(in: first).isEmpty)
        try incomplete.keep()
        let again = try #require(try reopened())
        #expect(!again.isComplete && again.missing(in: 0..<claimed) == [Self.block..<claimed])
        try again.discard()
    }

    @Test(arguments: [IncompleteBody.longest + 1, 1 << 62, .max])
    func `a length above the maximum of a file is refused`(claimed: Int64) throws {
        let error = #expect(throws: StoreError.self) {
            try test.store.makeIncomplete(for: key, header: [7], total: claimed, in: epoch)
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func `runs of missing blocks agree with a search block by block`() {
        var generator = SeededGenerator(for: "IncompleteBodyTests.runs")
        for _ in 0..<200 {
            var map = BlockMap()
            let count = Int64.random(in: 1...300, using: &generator)
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                let start = Int64.random(in: 0..<count, using: &generator)
                let isPresent = Int.random(in: 0...3, using: &generator) > 0
                for block in start..<min(count, start + Int64.random(in: 1...90, using: &generator)) {
                    map[block] = isPresent
                }
            }
            let from = Int64.random(in: 0..<count, using: &generator)
            let missing = RangeSet((from..<count).filter { !map[$0] }.map { $0..<$0 + 1 })
            #expect(map.missingRuns(in: from..<count) == Array(missing.ranges))
            let held = RangeSet((0..<count).filter { map[$0] }.map { BlockMap.range(of: $0, total: nil) })
            #expect(map.held(total: nil) == Array(held.ranges))
        }
    }

    @Test func `a damaged block is missing when it is verified`() throws {
        let incomplete = try made()
        try write([0, 1, 2], to: incomplete)
        try incomplete.keep()
        let path = try #require(
            DiskUsage.files(at: "\(test.path)/partials").first { $0.hasSuffix(".data") })
        let file = try FileHandle(forWritingTo: URL(filePath: "\(test.path)/partials/\(path)"))
        try file.seek(toOffset: UInt64(Self.block + 9))
        try file.write(contentsOf: [body[Int(Self.block) + 9] ^ 1])
        let again = try #require(try reopened())
        try again.verify(0..<3 * Self.block)
        #expect(again.missing(in: 0..<3 * Self.block) == [range(1)])
        try again.keep()
        #expect(try reopened()?.missing(in: 0..<3 * Self.block) == [range(1)])
    }

    @Test func `a writer of the whole body adds to the blocks, and the complete body becomes an entry`() throws {
        let incomplete = try made()
        try write([1, 40], to: incomplete)
        try incomplete.keep()
        let writer = try test.store.beginBody(for: key)
        let held = try #require(writer.held)
        #expect(held.missing == [range(0), range(2).lowerBound..<range(40).lowerBound])
        try writer.keep()
        let again = try #require(try reopened())
        try write([0] + (2..<40).map { $0 }, to: again)
        #expect(again.isComplete)
        _ = try again.commit(NewEntry(key: key, url: "http://test/a", metadata: [7, 8]))
        #expect(try test.store.read("a") == body)
        #expect(try test.store.verify().failed == 0)
        #expect(DiskUsage.files(at: "\(test.path)/partials").isEmpty)
    }

    @Test
    func `a body longer than the capacity takes only the space of its blocks, and is refused when they exceed it`()
        throws
    {
        let small = try StoreUnderTest(capacity: 4 << 20)
        let incomplete = try small.store.makeIncomplete(
            for: key, header: [7], total: 1 << 40, in: small.store.generation(of: "http://test/a").epoch)
        try incomplete.reserve([0..<Self.block])
        let error = #expect(throws: StoreError.self) { try incomplete.reserve([0..<(64 << 20)]) }
        #expect(error?.code == .tooLarge)
        try incomplete.discard()
        #expect(DiskUsage.files(at: "\(small.path)/partials").isEmpty)
    }

    /// The space that the store counts for partials.
    private func reserved() throws -> Int64 { try test.store.statistics().partialBytes }

    @Test func `the blocks that failed requests leave missing are reserved once`() throws {
        let incomplete = try made()
        let before = try reserved()
        let window = 0..<8 * Self.block
        try incomplete.reserve([window])
        let once = try reserved()
        #expect(once >= before + 8 * Self.block && once <= before + 8 * Self.block + 3 * Budget.page)
        for _ in 0..<50 { try incomplete.reserve(incomplete.missing(in: window)) }
        #expect(try reserved() == once)
        try write([2, 3], to: incomplete)
        // The rest is in two parts, and a block more is asked for.
        try incomplete.reserve(incomplete.missing(in: 0..<9 * Self.block))
        let more = try reserved()
        #expect(more >= once + Self.block && more <= once + Self.block + 3 * Budget.page)
        try incomplete.keep()
        #expect(try reserved() <= 3 * Self.block)
        // Nothing is reserved for those that opened it before.
        let again = try #require(try reopened())
        try again.reserve([range(5)])
        #expect(try reserved() > Self.block * 3)
        try again.discard()
        #expect(try reserved() == 0)
    }

    @Test func `a range without room is reserved when there is room`() throws {
        let small = try StoreUnderTest(capacity: 8 << 20)
        let incomplete = try small.store.makeIncomplete(
            for: key, header: [7], total: 1 << 30, in: small.store.generation(of: "http://test/a").epoch)
        let others = try small.store.beginBody(for: EntryKey("other"))
        try others.start(header: [1], total: 5 << 20)
        let window = 0..<16 * Self.block
        #expect(throws: StoreError.self) { try incomplete.reserve([window]) }
        try others.discard()
        try incomplete.reserve([window])
        #expect(try small.store.statistics().partialBytes >= 16 * Self.block)
        try incomplete.discard()
    }

    @Test func `whatever is asked for again, no more is reserved than the blocks that were asked for`() throws {
        var generator = SeededGenerator(for: "IncompleteBodyTests.reserved")
        let incomplete = try made()
        let before = try reserved()
        var asked = RangeSet<Int64>()
        var parts: Int64 = 0
        for _ in 0..<100 {
            let first = Int64.random(in: 0...40, using: &generator)
            let last = min(40, first + Int64.random(in: 0...12, using: &generator))
            let missing = incomplete.missing(in: range(first).lowerBound..<range(last).upperBound)
            let new = RangeSet(missing).subtracting(asked)
            asked.formUnion(new)
            parts += Int64(new.ranges.count)
            try incomplete.reserve(missing)
            // Some of the blocks arrive before the request fails.
            let some = Int64.random(in: 0...2, using: &generator)
            if let run = missing.first {
                let start = BlockMap.index(of: run.lowerBound)
                let end = min(start + some, BlockMap.index(of: run.upperBound - 1) + 1)
                try write(Array(start..<end), to: incomplete)
            }
            let bytes = asked.ranges.reduce(Int64(0)) { $0 + Int64($1.count) }
            let taken = try reserved() - before
            #expect(taken >= bytes && taken <= bytes + parts * 3 * Budget.page)
        }
        try incomplete.keep()
        #expect(try reserved() <= Self.total + 16 * Budget.page)
    }

    @Test func `a header is replaced only by one of the same length`() throws {
        let incomplete = try made()
        try write([2], to: incomplete)
        #expect(try incomplete.setHeader([9, 9]))
        #expect(try !incomplete.setHeader([1]))
        try incomplete.keep()
        let again = try #require(try reopened())
        try again.verify(range(2))
        #expect(again.header == [9, 9] && again.availableEnd(from: range(2).lowerBound) == range(2).upperBound)
        try again.keep()
    }

    @Test func `an incomplete body is not kept after an invalidation, and is not opened twice`() throws {
        let incomplete = try made()
        try write([0], to: incomplete)
        #expect(try reopened() == nil)
        _ = try test.store.remove([], invalidating: .resource("http://test/a"))
        try incomplete.keep()
        #expect(try reopened() == nil)
        #expect(DiskUsage.files(at: "\(test.path)/partials").isEmpty)
    }

    @Test func `the least recently used is evicted first, be it an entry or an incomplete body`() throws {
        let small = try StoreUnderTest(capacity: 8 << 20)
        let epoch = small.store.generation(of: "http://test/a").epoch
        func make(_ key: String) throws {
            let incomplete = try small.store.makeIncomplete(
                for: EntryKey(key), header: [7], total: 1 << 30, in: epoch)
            try incomplete.reserve([0..<4 * Self.block])
            for block in 0..<4 {
                try body[block * Int(Self.block)..<(block + 1) * Int(Self.block)].withUnsafeBytes {
                    try incomplete.write($0, at: Int64(block) * Self.block)
                }
            }
            try incomplete.keep()
            small.clock.advance(3600)
        }
        try make("unused")
        try make("read")
        try small.store.put("entry", Array(body.prefix(1 << 20)))
        small.clock.advance(3600)
        _ = try small.store.openPartial(for: EntryKey("read"))
        small.clock.advance(3600)
        func isPresent(_ key: String) throws -> Bool { try small.store.partial(for: EntryKey(key)) != nil }
        var number = 0
        while try isPresent("unused") {
            try small.store.put("filler \(number)", Array(body.prefix(1 << 20)))
            number += 1
            try #require(number < 20)
        }
        #expect(try isPresent("read") && small.store.read("entry") != nil)
        while try small.store.read("entry") != nil, number < 40 {
            try small.store.put("filler \(number)", Array(body.prefix(1 << 20)))
            number += 1
        }
    }
}
