import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

private let block = Int(BlockMap.blockSize)

@Suite(.timeLimit) struct RecoveryTests {
    /// A closed store with an entry and a partial.
    private func closedStore() throws -> StoreUnderTest {
        let test = try StoreUnderTest(capacity: 8 << 20)
        try test.store.put("old", pattern(50_000))
        let writer = try test.store.beginBody(for: EntryKey("part"))
        try writer.start(header: [7], total: Int64(3 * block))
        try writer.write(pattern(2 * block))
        try writer.keep()
        try test.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        test.store.close()
        return test
    }

    /// It starts empty, keeps the partial, and holds its capacity although the lost bodies lay there.
    private func expectRebuilt(_ test: StoreUnderTest, isAside: Bool = true) throws {
        let store = try test.again()
        #expect(try !store.has("old"))
        #expect(FileManager.default.fileExists(atPath: test.path + "/index.sqlite.aside") == isAside)
        try store.put("new", pattern(20_000))
        #expect(try store.read("new") == pattern(20_000))
        #expect(DiskUsage.files(at: test.path + "/bodies").count == 1)
        #expect(test.allocated <= 8 << 20)
        #expect(try store.partial(for: EntryKey("part"))?.bytesHeld == Int64(2 * block))
        let writer = try store.beginBody(for: EntryKey("part"))
        #expect(writer.held?.missing == [Int64(2 * block)..<Int64(3 * block)])
        // And the next one finds nothing to complain about.
        #expect(try test.again().read("new") == pattern(20_000))
    }

    /// Begins partials of two blocks, of which the first one is there, and closes the store as a loss of power leaves it: the partials' files are
    /// there, and all that the index has noted of them is not.
    private func losePower(_ test: StoreUnderTest, afterBeginning keys: [String]) throws {
        try test.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        let index = test.path + "/index.sqlite"
        let before = try Data(contentsOf: URL(filePath: index))
        for key in keys {
            let writer = try test.store.beginBody(for: EntryKey(key))
            try writer.start(header: [7], total: Int64(2 * block))
            try writer.write(pattern(block))
            try writer.keep()
        }
        test.store.close()
        for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: index + name) }
        try before.write(to: URL(filePath: index))
    }

    @Test(arguments: [20_000, 600_000])
    func `a file that a killed commit left is deleted when its number is reused`(size: Int) throws {
        let test = try StoreUnderTest()
        let entry = try test.store.put("a", pattern(100))
        // The number stands above the lowest byte, which names the folder.
        var totals = Totals(nextNumber: entry.id >> 8 + 1)
        let next = totals.takeNumber(folders: try test.store.withIndex { $0.budget.folders })
        let leftover = test.store.paths.body(next)
        try FileManager.default.createDirectory(
            atPath: test.store.paths.folder(Paths.folderNumber(of: next)), withIntermediateDirectories: true)
        try Data("left behind".utf8).write(to: URL(filePath: leftover))
        let body = pattern(size, seed: 2)
        try test.store.put("b", body)
        #expect(try test.store.read("b") == body)
        #expect(FileManager.default.contents(atPath: leftover) != Data("left behind".utf8))
        #expect(DiskUsage.files(at: test.path + "/bodies").count == 2)
    }

    @Test func `a leftover partial under a reused number is left to the sweep`() throws {
        let test = try StoreUnderTest()
        let entry = try test.store.put("a", pattern(100))
        // As a loss of power leaves it: the file is there, and the number is given out again.
        let leftover = test.store.paths.data(entry.id + 0x101)
        try Data("left behind".utf8).write(to: URL(filePath: leftover))
        let body = pattern(600_000, seed: 2)
        try test.store.put("b", body)
        #expect(try test.store.read("b") == body)
    }

    @Test(arguments: [1, 2])
    func `the record of a partial that the index forgot is deleted with the number's next partial`(
        lost: Int
    ) async throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        let body = pattern(3 * block)
        var old = NewEntry(key: EntryKey("old"), url: "http://test/old", metadata: [7])
        old.isResumable = true
        let entry = try test.store.writeWhole("old", body).commit(old).entry
        // During their commits: the data is among the bodies, and the index knows neither.
        try losePower(test, afterBeginning: (0..<lost).map { "part \($0)" })
        let partials = test.path + "/partials"
        func data() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: partials).filter { $0.hasSuffix(".data") }
        }
        let forgotten = try data()
        #expect(forgotten.count == lost)
        for name in forgotten { try FileManager.default.removeItem(atPath: "\(partials)/\(name)") }

        // A damaged body becomes a partial, of the first number that was lost.
        let store = try test.again()
        let path = store.path(of: entry)
        chmod(path, 0o600)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: [body[0] ^ 1])
        try file.close()
        #expect(try store.verify(repair: true).failed == 1)
        #expect(try data().allSatisfy(forgotten.contains))
        try await store.sweep()
        let writer = try store.beginBody(for: EntryKey("old"))
        #expect(writer.held?.missing == [0..<Int64(block)])
        try writer.resume(at: 0, total: Int64(body.count))
        try writer.write(body[..<block])
        try writer.endRange(complete: true)
        _ = try writer.commit(old)
        #expect(try store.read("old") == body)
        #expect(try FileManager.default.contentsOfDirectory(atPath: partials) == [])
    }

    @Test func `the number of a recovered partial is not reused`()
        async throws
    {
        let test = try StoreUnderTest(capacity: 8 << 20)
        for number in 0..<3 { try test.store.put("\(number)", pattern(100)) }
        try losePower(test, afterBeginning: ["part"])
        let store = try test.again()
        try await store.sweep()
        let resumed = try store.beginBody(for: EntryKey("part"))
        #expect(resumed.held?.missing == [Int64(block)..<Int64(2 * block)])
        try resumed.resume(at: Int64(block))
        try resumed.write(pattern(2 * block)[block...])
        _ = try resumed.commit(NewEntry(key: EntryKey("part"), variant: "", url: "http://test/part", metadata: []))
        for number in 0..<3 { try store.put("new \(number)", pattern(100 + number)) }
        #expect(try store.read("part") == pattern(2 * block))
        for number in 0..<3 { #expect(try store.read("new \(number)") == pattern(100 + number)) }
    }

    @Test func `a body that must not be stored is never an entry, and counts until it is closed`() throws {
        let test = try StoreUnderTest()
        for size in [1000, 600_000] {
            let body = try test.store.writeWhole("secret", pattern(size)).commitTransient(as: EntryKey("transient"))
            #expect(try body.all() == pattern(size))
            #expect(try test.store.statistics().entries == 0)
            #expect(try test.store.statistics().doomedBytes > 0)
        }
        #expect(DiskUsage.files(at: "\(test.path)/bodies").isEmpty)
        #expect(try test.store.statistics().doomedBytes == 0)
    }

    @Test(arguments: [1000, 600_000])
    func `closing a store deletes the bodies that must not be stored, which remain readable`(size: Int) throws {
        let test = try StoreUnderTest()
        let body = try test.store.writeWhole("secret", pattern(size)).commitTransient(as: EntryKey("transient"))
        test.store.close()
        #expect(DiskUsage.files(at: "\(test.path)/bodies").isEmpty)
        #expect(try body.all() == pattern(size))
    }

    @Test func `a body is compared with its checksum at every look-up if the boot is unknown`()
        throws
    {
        let directory = try TestDirectory()
        var configuration = StoreConfiguration(capacity: 8 << 20)
        configuration.minimumFreeSpace = 0
        configuration.boot = { 0 }
        let store = try DiskStore(directory: directory.path("cache"), configuration: configuration)
        let entry = try store.put("a", pattern(600_000))
        #expect(try store.read("a") != nil)
        let path = store.path(of: entry)
        chmod(path, 0o600)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: Data("other".utf8))
        try file.close()
        #expect(try store.read("a") == nil)
    }

    @Test(arguments: ["garbage", "header", "middle", "cut"])
    func `a damaged index is moved aside and rebuilt empty`(kind: String) throws {
        let test = try closedStore()
        let url = URL(fileURLWithPath: test.path + "/index.sqlite")
        var bytes = try Data(contentsOf: url)
        switch kind {
        case "garbage": bytes = Data(pattern(50_000))
        case "header": bytes.replaceSubrange(0..<16, with: Data(count: 16))
        case "middle": bytes.replaceSubrange(4096..<bytes.count, with: Data(pattern(bytes.count - 4096)))
        default: bytes = bytes.prefix(5000)
        }
        try bytes.write(to: url)
        try expectRebuilt(test)
    }

    @Test func `an index of another program is moved aside`() throws {
        let test = try closedStore()
        try Connection(path: test.path + "/index.sqlite").execute("PRAGMA application_id = 77")
        try expectRebuilt(test)
    }

    @Test func `an unusable index that would take much of the capacity is deleted`() throws {
        let test = try closedStore()
        try Data(pattern(1 << 20)).write(to: URL(fileURLWithPath: test.path + "/index.sqlite"))
        try expectRebuilt(test, isAside: false)
    }

    @Test(arguments: [nil, FileSystemKind(name: "nfs", isShared: true)])
    func `the log of an index that was moved aside is not used after a kill`(fileSystem: FileSystemKind?) throws {
        let test = try StoreUnderTest(capacity: 8 << 20, on: fileSystem)
        for number in 0..<20 { try test.store.put("k\(number)", pattern(1000 + number)) }
        // A copy of a directory that is in use is as after a kill.
        let copy = test.directory.path("copy")
        try FileManager.default.copyItem(atPath: test.path, toPath: copy)
        let paths = Paths(root: copy)
        #expect(rename(paths.index, paths.aside(1)) == 0)
        for path in paths.logs where FileStatus(at: path) == nil {
            try Data(pattern(5000)).write(to: URL(filePath: path))
        }
        let store = try StoreUnderTest.open(copy, capacity: 8 << 20, on: fileSystem)
        for number in 0..<20 { #expect(try !store.has("k\(number)")) }
        try store.put("new", pattern(20_000))
        #expect(try store.read("new") == pattern(20_000))
        #expect(DiskUsage.files(at: copy + "/bodies").count == 1)
    }

    @Test func `an index that can be neither moved nor deleted keeps its log`() throws {
        let test = try closedStore()
        let paths = Paths(root: test.path)
        for number in Paths.asides { try Data().write(to: URL(filePath: paths.aside(number))) }
        #expect(unlink(paths.index) == 0)
        // A folder is only deleted if it is empty.
        try FileManager.default.createDirectory(atPath: paths.index, withIntermediateDirectories: false)
        try Data("mine".utf8).write(to: URL(filePath: paths.index + "/notes.txt"))
        for path in paths.logs { try Data(pattern(5000)).write(to: URL(filePath: path)) }
        #expect(throws: StoreError.self) { try test.again() }
        for path in paths.logs { #expect(FileStatus(at: path)?.size == 5000) }
    }

    @Test func `bodies of a deleted index are deleted before anything is written`() throws {
        let test = try closedStore()
        try FileManager.default.removeItem(atPath: test.path + "/index.sqlite")
        try expectRebuilt(test, isAside: false)
    }

    @Test func `damage that shows while the store is in use leads to a miss and a new index`() throws {
        let test = try StoreUnderTest(capacity: 8 << 20)
        for number in 0..<300 {
            try test.store.put("k\(number)", [UInt8(truncatingIfNeeded: number)], metadata: pattern(500))
        }
        try test.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        let store = try test.again()
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: test.path + "/index.sqlite"))
        let size = try file.seekToEnd()
        try file.seek(toOffset: 4096 * 2)
        try file.write(contentsOf: pattern(Int(size) - 4096 * 2))
        try file.close()
        for number in 0..<300 { _ = try store.read("k\(number)") }
        try store.put("new", [42])
        #expect(try store.read("new") == [42])
        // The other store, which had the lost index open, continues with the new one: at once for a change, while a look-up that follows
        // another within 20 ms need not notice.
        try test.store.put("newer", [43])
        #expect(try test.store.read("new") == [42])
        #expect(try store.read("newer") == [43])
    }

    @Test func `a directory that is deleted under an open store is created again`() throws {
        let test = try StoreUnderTest()
        let entry = try test.store.put("a", [1])
        let reader = try test.store.open(entry)
        for size in [1000, 2 * block] {
            // A look-up that follows another at once need not notice.
            try FileManager.default.removeItem(atPath: test.path)
            #expect(try test.store.read("a") == nil)
            try? FileManager.default.removeItem(atPath: test.path)
            #expect(try test.store.tryLock(EntryKey("a")) != nil)
            try FileManager.default.removeItem(atPath: test.path)
            try test.store.put("b", pattern(size))
            #expect(try test.store.read("b") == pattern(size))
        }
        #expect(try reader?.all() == [1])
    }

    @Test
    func `a directory that is deleted while a body is being written costs that body, and the next one is stored`()
        throws
    {
        let test = try StoreUnderTest()
        for size in [1000, 3 * block] {
            let writer = try test.store.beginBody(for: EntryKey("k"))
            try writer.start(header: [], total: Int64(size))
            try writer.write(pattern(size)[..<(size / 2)])
            try FileManager.default.removeItem(atPath: test.path)
            _ = try? writer.write(pattern(size)[(size / 2)...])
            _ = try? writer.commit(NewEntry(key: EntryKey("k"), url: "", metadata: []))
            try test.store.put("next", pattern(size))
            #expect(try test.store.read("next") == pattern(size))
            #expect(try test.store.verify().failed == 0)
        }
    }

    @Test func `a body that is gone, shorter, or was changed before the last boot is dropped and a miss`() throws {
        let test = try StoreUnderTest()
        for kind in ["gone", "short", "changed", "folder"] {
            let entry = try test.store.put(kind, pattern(10_000))
            let path = test.store.paths.body(entry.id)
            chmod(path, 0o600)
            switch kind {
            case "gone": unlink(path)
            case "short": truncate(path, 9_999)
            case "folder":
                unlink(path)
                mkdir(path, 0o700)
            default:
                try test.store.withIndex { (index) throws(StoreError) in
                    try index.catalogue().connection.execute("UPDATE entries SET boot = 1 WHERE id = \(entry.id)")
                }
                var bytes = pattern(10_000)
                bytes[5000] ^= 4
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                try file.write(contentsOf: bytes)
            }
            #expect(try test.store.read(kind) == nil, "\(kind)")
            #expect(try !test.store.has(kind), "\(kind)")
        }
        #expect(try test.store.statistics().entries == 0)
    }

    @Test func `a body of an earlier boot that is sound is verified once`() throws {
        let test = try StoreUnderTest()
        let entry = try test.store.put("k", pattern(10_000))
        try test.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute("UPDATE entries SET boot = 1")
        }
        #expect(try test.store.read("k") == pattern(10_000))
        let verified = try #require(try test.store.entries(for: EntryKey("k")).first)
        #expect(verified.boot == entry.boot)
        #expect(verified.boot == Boot.current)
        #expect(Boot.current != 0)
    }

    @Test func `a file where the directory should be, or above it, is a typed error with the path`() throws {
        let directory = try TestDirectory()
        try directory.write("x", to: "file")
        for path in [directory.path("file"), directory.path("file/below")] {
            let error = #expect(throws: StoreError.self) { try StoreUnderTest.open(path, capacity: 8 << 20) }
            #expect(error?.code == .notWritable)
            #expect(error?.path?.hasPrefix(directory.path) == true)
        }
    }

    @Test func `the path of the directory may contain a symbolic link, and may be relative`() throws {
        let test = try StoreUnderTest()
        try test.store.put("k", [1])
        let link = test.directory.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: test.path)
        #expect(try StoreUnderTest.open(link, capacity: 8 << 20).read("k") == [1])
        let missing = test.directory.path("elsewhere")
        try FileManager.default.createSymbolicLink(
            atPath: test.directory.path("parent"), withDestinationPath: test.directory.path)
        try StoreUnderTest.open(test.directory.path("parent/elsewhere/"), capacity: 8 << 20).put("k", [2])
        #expect(try StoreUnderTest.open(missing, capacity: 8 << 20).read("k") == [2])
    }

    @Test func `a store that is opened for reading only reads bodies and changes nothing`() throws {
        let test = try StoreUnderTest()
        let entry = try test.store.put("k", pattern(1000))
        test.store.close()
        var configuration = StoreConfiguration(capacity: 8 << 20)
        configuration.isReadOnly = true
        let store = try DiskStore(directory: test.path, configuration: configuration)
        #expect(try store.read("k") == pattern(1000))
        try store.touch(entry)
        let error = #expect(throws: StoreError.self) { try store.put("new", [1]) }
        #expect(error?.code == .notWritable)
        #expect(try store.tryLock(EntryKey("k")) != nil)
        #expect(throws: StoreError.self) { try store.remove(entry) }
        let missing = #expect(throws: StoreError.self) {
            try DiskStore(directory: test.directory.path("none"), configuration: configuration)
        }
        #expect(missing?.code == .notWritable)
    }

    @Test func `a closed store throws an error that it is closed`() throws {
        let test = try StoreUnderTest()
        test.store.close()
        test.store.close()
        let error = #expect(throws: StoreError.self) { try test.store.entries(for: EntryKey("k")) }
        #expect(error?.code == .closed)
    }
}
