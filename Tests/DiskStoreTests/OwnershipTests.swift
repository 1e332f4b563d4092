import CLinux
import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

/// Only a folder that is a cache, or nothing, is used as one.
@Suite struct OwnershipTests {
    private let directory: TestDirectory
    private var path: String { directory.path("folder") }

    init() throws {
        directory = try TestDirectory()
        try FileManager.default.createDirectory(atPath: directory.path("folder"), withIntermediateDirectories: false)
    }

    /// Puts a file into the folder.
    private func put(_ name: String, _ bytes: Data = Data("mine".utf8)) throws {
        let file = "\(path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try bytes.write(to: URL(filePath: file))
    }

    private func open(creating: Bool = true) throws -> DiskStore {
        var configuration = StoreConfiguration(capacity: 8 << 20)
        configuration.createsDirectory = creating
        return try DiskStore(directory: path, configuration: configuration)
    }

    private func error(_ body: () throws -> Void) -> StoreError.Code? {
        do { try body() } catch { return (error as? StoreError)?.code }
        return nil
    }

    @Test(arguments: [
        ["notes.txt"], ["partials/notes.txt", "bodies/ab/photo"], ["index.sqlite"], ["CACHEDIR.TAG"], [".hidden"],
    ])
    func `a folder with other files is refused, and nothing in it is changed`(names: [String]) throws {
        let tag = Data("Signature: 8a477f597d28d172789f06886806bc55\n# of another program\n".utf8)
        for name in names { try put(name, name == "CACHEDIR.TAG" ? tag : Data("mine".utf8)) }
        let before = DiskUsage.files(at: path)
        #expect(error { _ = try open() } == .foreign)
        #expect(error { _ = try open(creating: false) } == .foreign)
        #expect(DiskUsage.files(at: path) == before)
    }

    @Test func `identifying a cache by its index leaves the locks of others in this process`() throws {
        let first = try open()
        try first.put("k", [1])
        // Stays open, because its end would release the locks itself.
        let descriptor = Glibc.open("\(path)/index.sqlite", O_RDONLY)
        try #require(descriptor >= 0)
        // The lock by which a connection shares the file (https://www.sqlite.org/src/doc/trunk/src/os.h, SHARED_FIRST).
        func isLocked() -> Bool { clinux_is_byte_locked(descriptor, 0x4000_0002) == 1 }
        #expect(isLocked())
        for _ in 0..<2 {
            try FileManager.default.removeItem(atPath: "\(path)/CACHEDIR.TAG")
            #expect(try open().read("k") == [1])
            #expect(isLocked())
        }
        try first.put("l", [2])
        close(descriptor)
    }

    @Test(arguments: [nil, "lost+found/x", "CACHEDIR.TAG"])
    func `an empty folder, a new file system or a tag cut short by a kill becomes a cache`(name: String?) throws {
        if let name { try put(name, Data()) }
        try open().put("k", [1])
        #expect(try open().read("k") == [1])
    }

    @Test func `a generations file left by a deletion is accepted, and a foreign file of that name is refused`() throws
    {
        try put("generations", Data(GenerationTable.initialBytes))
        try open().put("k", [1])
        #expect(try open().read("k") == [1])
        try FileManager.default.removeItem(atPath: path)
        try put("generations")
        #expect(error { _ = try open() } == .foreign)
        #expect(DiskUsage.files(at: path) == ["generations"])
    }

    @Test(arguments: [
        ["locks"], ["bodies/3c/0123456789abcdef"], ["partials/0123456789abcdef.data", "locks"],
        ["index.sqlite-wal", "index.sqlite-shm"], ["index.sqlite", "bodies/00/0000000000000100"],
    ])
    func
        `the remains of a cache deleted while in use become a cache again, unless there are foreign files`(
            names: [String]
        ) throws
    {
        for name in names { try put(name, name.contains("/") ? Data("body".utf8) : Data()) }
        try open().put("k", [1])
        #expect(try open().read("k") == [1])
        try FileManager.default.removeItem(atPath: path)
        for name in names { try put(name, name.contains("/") ? Data("body".utf8) : Data()) }
        try put("bodies/3c/photo.jpg")
        #expect(error { _ = try open() } == .foreign)
    }

    @Test func `a directory that is deleted while it is written into is never refused afterwards`() throws {
        for round in 0..<14 {
            let store = try open()
            let writer = try store.writeWhole("large", pattern(600_000))
            let small = try store.writeWhole("small", pattern(1000))
            // As `rm -rf` goes: name by name, with writers in between.
            let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
            for (place, name) in names.enumerated() {
                try FileManager.default.removeItem(atPath: "\(path)/\(name)")
                guard place == round % names.count else { continue }
                _ = try? store.tryLock(EntryKey("k"))
                _ = try? writer.commit(NewEntry(key: EntryKey("large"), url: "", metadata: []))
                _ = try? small.commit(NewEntry(key: EntryKey("small"), url: "", metadata: []))
            }
            let next = try open()
            try next.put("k", [1])
            #expect(try next.read("k") == [1], "round \(round)")
        }
    }

    @Test func `a cache is known by its tag, and without it by its index`() throws {
        try open().put("k", [1])
        try FileManager.default.removeItem(atPath: path + "/CACHEDIR.TAG")
        try put("notes.txt")
        #expect(try open().read("k") == [1])
        try put("CACHEDIR.TAG", Data("# This is a cache of imgcache.".utf8))
        try FileManager.default.removeItem(atPath: path + "/index.sqlite")
        #expect(try open().read("k") == nil)
    }

    @Test func `the index is private to its owner, even in a folder open to all`() throws {
        chmod(path, 0o755)
        let store = try open()
        try store.put("k", [1])
        #expect(try store.tryLock(EntryKey("k")) != nil)
        for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "locks", "CACHEDIR.TAG"] {
            var status = stat()
            #expect(stat("\(path)/\(name)", &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(name)")
        }
        withExtendedLifetime(store) {}
    }

    @Test(arguments: [true, false])
    func `a cache that may not be created is not created`(isFolder: Bool) throws {
        if !isFolder { try FileManager.default.removeItem(atPath: path) }
        #expect(error { _ = try open(creating: false) } == .absent)
        #expect(DiskUsage.files(at: path).isEmpty)
        #expect(FileManager.default.fileExists(atPath: path) == isFolder)
    }

    @Test func `an index that is moved aside does not replace an earlier one`() throws {
        for text in ["first", "second", "third"] {
            _ = try open()
            try put("index.sqlite", Data(text.utf8))
            for name in ["index.sqlite-wal", "index.sqlite-shm"] {
                try? FileManager.default.removeItem(atPath: "\(path)/\(name)")
            }
            _ = try open()
        }
        let asides = ["index.sqlite.aside", "index.sqlite.aside-2", "index.sqlite.aside-3"].map {
            FileManager.default.contents(atPath: "\(path)/\($0)").map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(asides == ["first", "second", "third"])
    }
}
