import Foundation
import TestSupport
import Testing

@testable import DiskStore

@Suite struct CommitTests {
    @Test func `a committed body is found with its metadata in the same store and after a reopening`() throws {
        let test = try StoreUnderTest()
        let body = pattern(20_000)
        let entry = try test.store.put("a", body, metadata: [9, 8, 7])
        #expect(try test.store.read("a") == body)
        test.store.close()
        let next = try test.again()
        let found = try #require(try next.entries(for: EntryKey("a"), withAccess: true).first)
        #expect(found == entry)
        #expect(found.metadata == [9, 8, 7])
        #expect(try next.read("a") == body)
    }

    @Test(arguments: [
        0, 1, 4095, 4096, 262_143, 262_144, 262_145, 524_288, 1_000_001,
    ])
    func `bodies of every length around a block's come back unchanged`(count: Int) throws {
        let test = try StoreUnderTest()
        let body = pattern(count, seed: UInt64(count))
        try test.store.put("known", body)
        let writer = try test.store.beginBody(for: EntryKey("unknown"))
        try writer.start(header: [], total: nil)
        for start in stride(from: 0, to: count, by: 10_000) {
            try writer.write(body[start..<min(count, start + 10_000)])
        }
        let stored = try writer.commit(NewEntry(key: EntryKey("unknown"), url: "u", metadata: []))
        #expect(try stored.all() == body)
        #expect(try test.store.read("known") == body)
        #expect(try test.store.read("unknown") == body)
        let known = try #require(try test.store.entries(for: EntryKey("known")).first)
        #expect(known.checksum == stored.entry.checksum)
        #expect(try test.store.checksum(of: stored.file, size: Int64(count)) == known.checksum)
    }

    @Test func `a body that lacks bytes is not committed, and can be completed afterwards`() throws {
        let test = try StoreUnderTest()
        for size in [100_000, 600_000] {
            let body = pattern(size)
            let writer = try test.store.beginBody(for: EntryKey("k"))
            try writer.start(header: [5], total: Int64(size))
            try writer.write(body[..<(size - 1)])
            let entry = NewEntry(key: EntryKey("k"), url: "u", metadata: [])
            let error = #expect(throws: StoreError.self) { try writer.commit(entry) }
            #expect(error?.code == .incomplete)
            let held = try #require(writer.held)
            #expect(held.missing == [Int64(size - 1)..<Int64(size)])
            try writer.resume(at: Int64(size - 1))
            try writer.write(body[(size - 1)...])
            #expect(try writer.commit(entry).all() == body)
        }
    }

    @Test func `more bytes than were announced are refused`() throws {
        let test = try StoreUnderTest()
        let writer = try test.store.beginBody(for: EntryKey("k"))
        try writer.start(header: [], total: 10)
        let error = #expect(throws: StoreError.self) { try writer.write(pattern(11)) }
        #expect(error?.code == .wrongLength)
    }

    @Test func `an entry replaces the one with its key and variant, and leaves other variants alone`() throws {
        let test = try StoreUnderTest()
        let first = try test.store.put("k", pattern(5000), variant: "gzip")
        try test.store.put("k", pattern(6000), variant: "br")
        let second = try test.store.put("k", pattern(7000), variant: "gzip")
        let entries = try test.store.entries(for: EntryKey("k"))
        #expect(Set(entries.map(\.variant)) == ["gzip", "br"])
        #expect(entries.first { $0.variant == "gzip" }?.id == second.id)
        #expect(try test.store.open(first) == nil)
        #expect(DiskUsage.files(at: test.path + "/bodies").count == 2)
    }

    @Test func `keys with the same hash are distinguished by their text`() throws {
        let test = try StoreUnderTest()
        try test.store.put("one", [1])
        try test.store.put("two", [2])
        // A hostile origin could find such keys; here the index is made to collide.
        try test.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute("UPDATE entries SET key_hash = \(keyHash(EntryKey("one")))")
        }
        #expect(try test.store.read("one") == [1])
        #expect(try test.store.read("two") == nil)
        #expect(try test.store.entries(for: EntryKey("one")).count == 1)
    }

    @Test func `metadata can be replaced only while its entry exists`() throws {
        let test = try StoreUnderTest()
        let entry = try test.store.put("k", [1])
        #expect(try test.store.updateMetadata(of: entry, [4, 4]) != nil)
        #expect(try test.store.entries(for: EntryKey("k")).first?.metadata == [4, 4])
        try test.store.remove(entry)
        #expect(try test.store.updateMetadata(of: entry, [5]) == nil)
    }

    @Test
    func `folders and files are for their owner alone, bodies are read-only, and backups leave the directory out`()
        throws
    {
        let test = try StoreUnderTest()
        try test.store.put("small", pattern(10))
        try test.store.put("large", pattern(300_000))
        func mode(_ path: String) -> Int {
            (try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int) ?? 0
        }
        #expect(mode(test.path) == 0o700)
        for name in DiskUsage.files(at: test.path + "/bodies") {
            #expect(mode("\(test.path)/bodies/\(name)") == 0o400)
        }
        let tag = try String(contentsOfFile: test.path + "/CACHEDIR.TAG", encoding: .utf8)
        #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
        #expect(DiskUsage.files(at: test.path + "/partials").isEmpty)
    }
}
