import Foundation
import TestSupport
import Testing

@testable import DiskStore

private let block = Int(BlockMap.blockSize)

@Suite(.enabled(if: Tmpfs.unavailableReason == nil, "mounting a tmpfs needs root"))
struct FullDiskTests {
    /// Uses all that the disk has left.
    private func fill(_ disk: Tmpfs) throws {
        let file = try #require(fopen(disk.path + "/ballast", "ae"))
        defer { fclose(file) }
        setvbuf(file, nil, _IONBF, 0)
        let page = [UInt8](repeating: 1, count: 4096)
        while fwrite(page, 1, page.count, file) == page.count {}
    }

    private func empty(_ disk: Tmpfs) {
        // A process that another test is just starting holds this one's descriptors until its exec: cut first.
        truncate(disk.path + "/ballast", 0)
        unlink(disk.path + "/ballast")
    }

    /// Expects that all stored entries are valid, and that the disk has space again.
    private func expectSound(_ store: DiskStore) async throws {
        #expect(try store.verify().failed == 0)
        try store.put("after", pattern(30_000))
        #expect(try store.read("after") == pattern(30_000))
        try await store.sweep()
        let names = Set(DiskUsage.files(at: store.directory + "/bodies").compactMap { $0.split(separator: "/").last })
        #expect(try Int64(names.count) == store.statistics().entries)
    }

    @Test
    func
        `a disk that other programs filled is reported as full, and the store works again once there is room`()
        async throws
    {
        let disk = try Tmpfs(size: 16 << 20)
        let store = try StoreUnderTest.open(disk.path + "/cache", capacity: 64 << 20)
        try store.put("kept", pattern(10_000))
        for size in [0, 1000, 200_000, 3 * block] {
            for knowsTotal in [true, false] {
                try fill(disk)
                let error = #expect(throws: StoreError.self) {
                    for number in 0..<400 {
                        let writer = try store.beginBody(for: EntryKey("k\(number)"))
                        try writer.start(header: [], total: knowsTotal ? Int64(size) : nil)
                        try writer.write(pattern(size))
                        _ = try writer.commit(NewEntry(key: EntryKey("k\(number)"), url: "", metadata: pattern(2000)))
                        // Fills the space that the eviction freed.
                        try fill(disk)
                    }
                }
                #expect(error?.code == .full, "\(size): \(String(describing: error))")
                empty(disk)
                try await expectSound(store)
            }
        }
    }

    enum Removal: CaseIterable {
        case keys, entry, matching, partial, all
    }

    @Test(arguments: Removal.allCases)
    func `an entry that is removed while the disk is full stays removed`(_ removal: Removal) async throws {
        let disk = try Tmpfs(size: 16 << 20)
        let store = try StoreUnderTest.open(disk.path + "/cache", capacity: 64 << 20)
        let url = "http://origin.example/a"
        let key = EntryKey("removed")
        func write(_ key: EntryKey, _ size: Int) throws -> BodyWriter {
            let writer = try store.beginBody(for: key)
            try writer.start(header: [1], total: Int64(3 * block))
            try writer.write(pattern(size))
            return writer
        }
        try write(key, 2 * block).keep()
        let stored = try write(EntryKey("stored"), 3 * block)
        _ = try stored.commit(NewEntry(key: EntryKey("stored"), url: url, metadata: pattern(2000)))
        let entry = try #require(try store.entry(for: EntryKey("stored"), variant: ""))
        // The log of the index is as small as it gets, so that a transaction needs space.
        _ = try store.withIndex { (index) throws(StoreError) in try index.catalogue().emptyLog() }
        try fill(disk)
        switch removal {
        case .keys: try store.remove([EntryKey("stored"), key], invalidating: .resource(url))
        case .entry: #expect(try store.remove(entry, invalidating: nil))
        case .matching: try store.remove(invalidating: .resource(url), where: { $0 == url })
        case .partial: try store.remove([key], invalidating: .resource(url))
        case .all: try store.clear()
        }
        if removal != .partial { #expect(try store.entry(for: EntryKey("stored"), variant: "") == nil) }
        if [.keys, .partial, .all].contains(removal) { #expect(try store.openPartial(for: key) == nil) }
        empty(disk)
        try await expectSound(store)
    }

    @Test func `a disk smaller than the capacity bounds the store as the capacity would`() async throws {
        let disk = try Tmpfs(size: 8 << 20)
        let store = try StoreUnderTest.open(disk.path + "/cache", capacity: 64 << 20)
        for number in 0..<200 { try store.put("k\(number)", pattern(100_000)) }
        #expect(try store.read("k199") == pattern(100_000))
        let writer = try store.beginBody(for: EntryKey("large"))
        let error = #expect(throws: StoreError.self) {
            try writer.start(header: [], total: nil)
            for _ in 0..<100 { try writer.write(pattern(200_000)) }
        }
        #expect(error?.code == .full)
        try writer.discard()
        try await expectSound(store)
    }

    @Test func `a transfer that a full disk interrupted keeps its blocks and resumes when there is room`() throws {
        let disk = try Tmpfs(size: 8 << 20)
        let store = try StoreUnderTest.open(disk.path + "/cache", capacity: 64 << 20)
        let body = pattern(6 * block)
        let writer = try store.beginBody(for: EntryKey("k"))
        try writer.start(header: [1], total: Int64(body.count))
        try writer.write(body[..<(2 * block)])
        try fill(disk)
        #expect(throws: StoreError.self) { try writer.write(body[(2 * block)...]) }
        try? writer.keep()
        empty(disk)
        let next = try store.beginBody(for: EntryKey("k"))
        let held = try #require(next.held)
        #expect(held.bytesHeld >= 2 * block)
        try next.resume(at: held.missing[0].lowerBound)
        try next.write(body[Int(held.missing[0].lowerBound)...])
        #expect(try next.commit(NewEntry(key: EntryKey("k"), url: "", metadata: [])).all() == body)
    }

    @Test
    func `a store on a read-only file system fails to open for writing, and opens for reading`() throws {
        let disk = try Tmpfs(size: 8 << 20)
        do {
            let store = try StoreUnderTest.open(disk.path + "/cache", capacity: 64 << 20)
            try store.put("k", pattern(1000))
        }
        try disk.setReadOnly(true)
        let error = #expect(throws: StoreError.self) {
            try StoreUnderTest.open(disk.path + "/cache", capacity: 64 << 20)
        }
        #expect(error?.code == .notWritable)
        let new = #expect(throws: StoreError.self) { try StoreUnderTest.open(disk.path + "/new", capacity: 64 << 20) }
        #expect(new?.code == .notWritable)
        var configuration = StoreConfiguration(capacity: 64 << 20)
        configuration.isReadOnly = true
        let reader = try DiskStore(directory: disk.path + "/cache", configuration: configuration)
        #expect(try reader.read("k") == pattern(1000))
        try disk.setReadOnly(false)
    }
}
