import Foundation
import TestSupport
import Testing

@testable import DiskStore

@Suite struct ListingTests {
    @Test func `entries are listed by age, size, URL and storage time, in both directions and up to a limit`() throws {
        let test = try StoreUnderTest()
        for (key, size) in [("c", 9000), ("a", 1000), ("b", 5000)] {
            try test.store.put(key, pattern(size))
            test.clock.advance(10)
        }
        try test.store.touch(#require(try test.store.entries(for: EntryKey("c")).first))
        func keys(_ order: EntryOrder, _ descending: Bool = false, limit: Int = .max) throws -> String {
            var keys = ""
            try test.store.list(by: order, descending: descending) {
                keys += $0.key.value
                return keys.count < limit
            }
            return keys
        }
        #expect(try keys(.age) == "abc")
        #expect(try keys(.size) == "abc")
        #expect(try keys(.size, true) == "cba")
        #expect(try keys(.url, true) == "cba")
        #expect(try keys(.created) == "cab")
        #expect(try keys(.created, true, limit: 2) == "ba")
    }

    @Test func `entries may be removed while they are listed`() throws {
        let test = try StoreUnderTest()
        for number in 0..<10 { try test.store.put("k\(number)", [1]) }
        var seen = 0
        try test.store.list(by: .created) { _ in
            seen += 1
            try test.store.remove(EntryKey("k\(10 - seen)"))
            return true
        }
        #expect(seen == 5)
    }

    @Test func `the statistics agree with the contents of the store`() throws {
        let test = try StoreUnderTest(capacity: 16 << 20)
        try test.store.put("a", pattern(10_000))
        let writer = try test.store.beginBody(for: EntryKey("p"))
        try writer.start(header: [], total: 1 << 20)
        let statistics = try test.store.statistics()
        #expect(statistics.entries == 1)
        #expect(statistics.bodyBytes == 12_288)
        #expect(statistics.partials == 1)
        #expect(statistics.partialBytes == 1 << 20 + 4096)
        #expect(statistics.capacity == 16 << 20)
        #expect(statistics.usedBytes < 16 << 20)
        #expect(statistics.indexBytes > 0)
        #expect(statistics.freeSpace > 0)
    }

    @Test func `an exported copy is whole, is the caller's own, and follows the umask`() throws {
        let test = try StoreUnderTest()
        let body = pattern(700_000)
        let stored = try #require(try test.store.open(try test.store.put("k", body)))
        let target = test.directory.path("out.bin")
        try stored.export(to: target, overwrite: false)
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data(body))
        let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int
        let mask = umask(0)
        umask(mask)
        #expect(mode == 0o666 & ~Int(mask))
        try Data([1]).write(to: URL(fileURLWithPath: target))
        #expect(try stored.all() == body)
    }

    @Test func `an export replaces a file only with permission, and leaves no other file`() throws {
        let test = try StoreUnderTest()
        let body = pattern(5000)
        let stored = try #require(try test.store.open(try test.store.put("k", body)))
        let target = try test.directory.write("mine", to: "out.bin")
        let error = #expect(throws: StoreError.self) { try stored.export(to: target, overwrite: false) }
        #expect(error?.code == .exists)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "mine")
        try stored.export(to: target, overwrite: true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data(body))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: test.directory.path).sorted() == ["cache", "out.bin"])
        let missing = #expect(throws: StoreError.self) {
            try stored.export(to: test.directory.path("no/such/folder"), overwrite: true)
        }
        #expect(missing?.errno == ENOENT)
    }

    @Test func `an export follows a link to its file, writes into a device, and refuses a folder`() throws {
        let test = try StoreUnderTest()
        let body = pattern(5000)
        let stored = try #require(try test.store.open(try test.store.put("k", body)))
        let target = try test.directory.write("old", to: "real.bin")
        try FileManager.default.createSymbolicLink(atPath: test.directory.path("link"), withDestinationPath: target)
        try stored.export(to: test.directory.path("link"), overwrite: true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data(body))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: test.directory.path("link")) == target)
        try stored.export(to: "/dev/null", overwrite: true)
        var status = stat()
        #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
        #expect(throws: StoreError.self) { try stored.export(to: test.directory.path, overwrite: true) }
    }

    @Test func `a body can be written to a descriptor`() throws {
        let test = try StoreUnderTest()
        let body = pattern(400_000)
        let stored = try #require(try test.store.open(try test.store.put("k", body)))
        let path = try test.directory.write("", to: "copy")
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try stored.copy(toDescriptor: file.fileDescriptor)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(body))
    }
}
