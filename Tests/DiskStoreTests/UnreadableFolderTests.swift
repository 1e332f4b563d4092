import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

private let block = Int(BlockMap.blockSize)

/// A folder of the store exists, and its names cannot be read.
@Suite(.timeLimit) struct UnreadableFolderTests {
    @Test func `a missing folder and a file have no names, and a folder that cannot be listed is an error`() throws {
        let directory = try TestDirectory()
        try directory.write("x", to: "file")
        #expect(symlink("loop", directory.path("loop")) == 0)
        var names: [String] = []
        for name in ["missing", "file", "file/below"] { try forEachName(in: directory.path(name)) { names.append($0) } }
        #expect(names.isEmpty)
        let error = #expect(throws: StoreError.self) { try forEachName(in: directory.path("loop")) { _ in } }
        #expect(error?.errno == ELOOP && error?.path == directory.path("loop"))
        try forEachName(in: directory.path) { names.append($0) }
        #expect(names.sorted() == ["file", "loop"])
    }

    @Test func `the status of a file is missing only if there is none, and otherwise an error`() throws {
        let directory = try TestDirectory()
        try directory.write("x", to: "file")
        #expect(symlink("loop", directory.path("loop")) == 0)
        #expect(try FileStatus.ifPresent(directory.path("file"))?.size == 1)
        #expect(try FileStatus.ifPresent(directory.path("loop"))?.isRegular == false)
        for name in ["missing", "file/below"] { #expect(try FileStatus.ifPresent(directory.path(name)) == nil) }
        let error = #expect(throws: StoreError.self) { _ = try FileStatus.ifPresent(directory.path("loop/below")) }
        #expect(error?.errno == ELOOP)
        for name in ["missing", "file/below", "loop"] {
            let file = try File.ifReadable(directory.path(name))
            #expect(file == nil)
        }
        let file = try File.ifReadable(directory.path("file"))
        #expect(file != nil)
        #expect(throws: StoreError.self) { _ = try File.ifReadable(String(repeating: "a", count: 5000)) }
    }

    @Test func `partials that cannot be opened without a free descriptor do not count as none`() async throws {
        await #expect(processExitsWith: .success) {
            let test = try StoreUnderTest()
            let store = test.store
            let writer = try store.beginBody(for: EntryKey("part"))
            try writer.start(header: [7], total: 2_000_000)
            try writer.write(pattern(1_000_000))
            try writer.keep()
            func idle() throws -> Int64 {
                try store.withIndex { (index) throws(StoreError) in try index.idlePartialBytes() }
            }
            let before = try idle()
            #expect(before > 0)
            try withoutDescriptors {
                let errors = [
                    #expect(throws: StoreError.self) { _ = try idle() },
                    #expect(throws: StoreError.self) { _ = try store.partial(for: EntryKey("part")) },
                    #expect(throws: StoreError.self) { _ = try store.partials() },
                    #expect(throws: StoreError.self) { _ = try store.openPartial(for: EntryKey("part")) },
                ]
                for error in errors { #expect(error?.errno == EMFILE) }
            }
            let after = try idle()
            #expect(after == before)
            #expect(try store.partials().count == 1)
        }
    }

    @Test func `a folder of partials that cannot be listed costs no partial`() async throws {
        await #expect(processExitsWith: .success) {
            let user = geteuid()
            let directory = try directoryOfUser()
            defer { seteuid(user) }
            let path = directory.path("cache")
            let paths = try makeStore(at: path).paths
            let store = try StoreUnderTest.open(path, capacity: 64 << 20)

            #expect(chmod(paths.partials, 0o300) == 0)
            await #expect(throws: StoreError.self) { _ = try await store.sweep() }
            let swept = try store.withIndex { (index) throws(StoreError) in try index.readTotals().swept }
            #expect(swept == 0)
            #expect(try store.partial(for: EntryKey("part"))?.bytesHeld == Int64(2 * block))
            // The process that had claimed it was killed before it changed the row.
            let rows = try store.withIndex { (index) throws(StoreError) in try index.catalogue().partials.all() }
            let row = try #require(rows.first)
            let record = paths.record(row.id, claim: row.claim ^ 1)
            #expect(rename(paths.record(row.id, claim: row.claim), record) == 0)
            #expect(throws: StoreError.self) { _ = try store.beginBody(for: EntryKey("part")) }
            await #expect(throws: StoreError.self) { _ = try await store.sweep() }

            #expect(chmod(paths.partials, 0o700) == 0)
            try await store.sweep()
            let writer = try store.beginBody(for: EntryKey("part"))
            #expect(writer.held?.bytesHeld == Int64(2 * block))
            try writer.keep()
            #expect(try store.read("k") == pattern(1000))
        }
    }

    @Test func `folders of bodies that cannot be listed still hold bodies that a new index does not count`()
        async throws
    {
        await #expect(processExitsWith: .success) {
            let user = geteuid()
            let directory = try directoryOfUser()
            defer { seteuid(user) }
            let path = directory.path("cache")
            let old = try makeStore(at: path)
            let paths = old.paths
            let entry = try #require(try old.entries(for: EntryKey("k")).first)
            let folder = paths.folder(Paths.folderNumber(of: entry.id))
            old.close()
            for name in [paths.index] + paths.logs { unlink(name) }

            #expect(chmod(paths.bodies, 0o300) == 0)
            #expect(throws: StoreError.self) { _ = try StoreUnderTest.open(path, capacity: 64 << 20) }
            #expect(FileStatus(at: paths.index) == nil)
            #expect(chmod(paths.bodies, 0o700) == 0)
            let store = try StoreUnderTest.open(path, capacity: 64 << 20)

            #expect(chmod(folder, 0o300) == 0)
            #expect(throws: StoreError.self) { try store.put("new", pattern(2000)) }
            await #expect(throws: StoreError.self) { _ = try await store.sweep() }
            let totals = try store.withIndex { (index) throws(StoreError) in try index.readTotals() }
            #expect(totals.hasUncountedFiles == 1 && totals.swept == 0)
            #expect(chmod(folder, 0o700) == 0)
            try store.put("new", pattern(2000))
            #expect(DiskUsage.files(at: paths.bodies).count == 1)
            #expect(try store.partial(for: EntryKey("part"))?.bytesHeld == Int64(2 * block))
        }
    }

    @Test func `a folder that cannot be listed does not become a cache`() async throws {
        await #expect(processExitsWith: .success) {
            let user = geteuid()
            let directory = try directoryOfUser()
            defer { seteuid(user) }
            let names = ["notes.txt", "bodies/05/notes.txt", "partials/notes.txt"]
            for (number, name) in names.enumerated() {
                let path = directory.path("\(number)")
                let folder = URL(filePath: "\(path)/\(name)").deletingLastPathComponent()
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try Data("mine".utf8).write(to: folder.appending(path: "notes.txt"))
                #expect(chmod(folder.path, 0o300) == 0)
                #expect(throws: StoreError.self) { _ = try StoreUnderTest.open(path, capacity: 64 << 20) }
                #expect(chmod(folder.path, 0o700) == 0)
                #expect(DiskUsage.files(at: path) == [name])
            }
        }
    }
}

/// Makes a directory of a user who may not list a folder whose mode says so, in a process of its own.
private func directoryOfUser() throws -> TestDirectory {
    let directory = try TestDirectory()
    // Root may list every folder.
    if geteuid() == 0 {
        try #require(chown(directory.path, 65_534, 65_534) == 0)
        try #require(seteuid(65_534) == 0)
    }
    return directory
}

/// Makes a store with an entry and a partial of two blocks.
private func makeStore(at path: String) throws -> DiskStore {
    let store = try StoreUnderTest.open(path, capacity: 64 << 20)
    try store.put("k", pattern(1000))
    let writer = try store.beginBody(for: EntryKey("part"))
    try writer.start(header: [1], total: Int64(3 * block))
    try writer.write(pattern(2 * block))
    try writer.keep()
    return store
}
