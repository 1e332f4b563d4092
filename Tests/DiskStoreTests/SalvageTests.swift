import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

/// Bodies that are damaged on disk become partials, in which only their damaged blocks are missing.
@Suite struct SalvageTests {
    private static let block = BlockMap.blockSize
    private let test: StoreUnderTest
    private let body = pattern(Int(3 * block + 1000))

    init() throws { test = try StoreUnderTest() }

    private func put(_ key: String, isResumable: Bool = true) throws -> StoredEntry {
        var entry = NewEntry(key: EntryKey(key), url: "http://test/\(key)", metadata: [7, 8])
        entry.isResumable = isResumable
        return try test.store.writeWhole(key, body).commit(entry).entry
    }

    private func damage(_ entry: StoredEntry, at offset: Int64) throws {
        let path = test.store.path(of: entry)
        chmod(path, 0o600)
        defer { chmod(path, 0o400) }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: [body[Int(offset)] ^ 1])
    }

    /// Writes the missing bytes, and returns what is stored then.
    private func completed(_ key: String) throws -> [UInt8]? {
        let writer = try test.store.beginBody(for: EntryKey(key))
        while let missing = writer.held?.missing.first {
            try writer.resume(at: missing.lowerBound, total: Int64(body.count))
            try writer.write(body[Int(missing.lowerBound)..<Int(min(missing.upperBound, Int64(body.count)))])
            try writer.endRange(complete: true)
        }
        _ = try writer.commit(NewEntry(key: EntryKey(key), url: "http://test/\(key)", metadata: [7, 8]))
        return try test.store.read(key)
    }

    @Test(arguments: [[0], [1], [3], [0, 2, 3]])
    func `only damaged blocks are missing after a repair`(damaged: [Int64]) throws {
        let entry = try put("a")
        for block in damaged { try damage(entry, at: block * Self.block + 17) }
        #expect(try test.store.verify(repair: true).failed == 1)
        #expect(try test.store.statistics().entries == 0)
        let writer = try test.store.beginBody(for: EntryKey("a"))
        let held = try #require(writer.held)
        #expect(held.header == [7, 8] && held.total == Int64(body.count))
        let missing = (0..<4).filter { block in held.missing.contains { $0.contains(block * Self.block) } }
        #expect(missing == damaged)
        try writer.keep()
        #expect(try completed("a") == body)
        #expect(try test.store.verify().failed == 0)
        #expect(DiskUsage.files(at: "\(test.path)/partials").isEmpty)
        #expect(test.allocated <= 64 << 20)
    }

    @Test func `a body that was cut short or has grown keeps its whole blocks`() throws {
        for length in [2 * Self.block + 5, 4 * Self.block] {
            let entry = try put("a")
            chmod(test.store.path(of: entry), 0o600)
            #expect(truncate(test.store.path(of: entry), off_t(length)) == 0)
            #expect(try test.store.read("a") == nil)
            let held = try test.store.beginBody(for: EntryKey("a")).held
            #expect(held?.bytesHeld == (length < 3 * Self.block ? 2 * Self.block : Int64(body.count)))
            #expect(try completed("a") == body)
        }
    }

    @Test func `a damaged body that other readers may have is not salvaged`() throws {
        let reading = try put("reading")
        let reader = try #require(try test.store.open(reading))
        let linked = try put("linked")
        #expect(link(test.store.path(of: linked), "\(test.directory.path("link"))") == 0)
        let other = try put("other", isResumable: false)
        for entry in [reading, linked, other] { try damage(entry, at: 5) }
        #expect(try test.store.verify(repair: true).failed == 3)
        #expect(try test.store.statistics().entries == 0)
        for key in ["reading", "linked", "other"] {
            #expect(try test.store.beginBody(for: EntryKey(key)).held == nil, "\(key)")
        }
        #expect(try reader.all().count == body.count)
    }

    @Test func `a body without an intact block is removed`() throws {
        let entry = try put("a")
        for block in 0..<Int64(4) { try damage(entry, at: block * Self.block) }
        #expect(try test.store.verify(repair: true).failed == 1)
        #expect(try test.store.beginBody(for: EntryKey("a")).held == nil)
        #expect(DiskUsage.files(at: "\(test.path)/bodies").isEmpty)
    }

    @Test func `a removed body takes its checksums with it`() throws {
        let entry = try put("a")
        func count() throws -> Int64 {
            try test.store.withIndex { (index) throws(StoreError) in
                try index.catalogue().connection.number("SELECT count(*) FROM blocks")
            }
        }
        #expect(try count() == 1)
        #expect(try test.store.remove(entry))
        #expect(try count() == 0)
    }
}
