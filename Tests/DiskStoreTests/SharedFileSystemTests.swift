import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

private let nfs = FileSystemKind(name: "nfs", isShared: true)
private let block = Int(BlockMap.blockSize)

/// A store on a file system that other machines may use.
@Suite(.timeLimit) struct SharedFileSystemTests {
    private let key = EntryKey("k")
    private let entry = NewEntry(key: EntryKey("k"), url: "u", metadata: [])
    private let body = pattern(4 * block)

    // MARK: The index

    /// True if the index has a write-ahead log (https://www.sqlite.org/fileformat.html section 1.3.3).
    private func hasLog(_ directory: String) throws -> Bool {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: directory + "/index.sqlite"))
        let header = try #require(try file.read(upToCount: 20))
        #expect(header[18] == header[19])
        return header[18] == 2
    }

    @Test func `a new index on a shared file system has a journal instead of a log and shared memory`() throws {
        let test = try StoreUnderTest(on: nfs)
        try test.store.put("a", pattern(1000))
        #expect(try test.store.read("a") == pattern(1000))
        #expect(try !hasLog(test.path))
        #expect(DiskUsage.files(at: test.path).filter { $0.hasPrefix("index") } == ["index.sqlite"])
    }

    /// A copy of a directory that is in use is as after a kill.
    @Test(arguments: [nil, nfs]) func `the index changes its journal with the file system, also after a kill`(
        before: FileSystemKind?
    ) throws {
        let after = before == nil ? nfs : nil
        let test = try StoreUnderTest(on: before)
        for number in 0..<20 { try test.store.put("k\(number)", pattern(1000 + number)) }
        let copy = test.directory.path("copy")
        try FileManager.default.copyItem(atPath: test.path, toPath: copy)
        let store = try StoreUnderTest.open(copy, capacity: 64 << 20, on: after)
        #expect(try hasLog(copy) == (after == nil))
        for number in 0..<20 { #expect(try store.read("k\(number)") == pattern(1000 + number)) }
        try store.put("new", pattern(77))
        store.close()
        let again = try StoreUnderTest.open(copy, capacity: 64 << 20, on: before)
        #expect(try hasLog(copy) == (before == nil))
        #expect(try again.read("new") == pattern(77))
    }

    @Test func `an index that a process uses with its log is busy on a shared file system`() throws {
        let test = try StoreUnderTest()
        try test.store.put("a", pattern(1000))
        var configuration = StoreConfiguration()
        configuration.busyTimeout = .milliseconds(100)
        configuration.fileSystem = { _ in nfs }
        let error = #expect(throws: StoreError.self) {
            try DiskStore(directory: test.path, configuration: configuration)
        }
        #expect(error?.code == .busy)
        #expect(try test.store.read("a") == pattern(1000))
    }

    @Test func `several stores on a shared file system read and change the index at the same time`() async throws {
        let test = try StoreUnderTest(on: nfs)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                let store = try test.again(on: nfs)
                group.addTask {
                    for item in 0..<25 {
                        try store.put("\(number)/\(item)", pattern(1000 + item))
                        #expect(try store.read("\(number)/\(item)") == pattern(1000 + item))
                    }
                }
            }
            try await group.waitForAll()
        }
        for number in 0..<4 {
            for item in 0..<25 { #expect(try test.store.read("\(number)/\(item)") == pattern(1000 + item)) }
        }
    }

    @Test func `an index without a log is listed and swept`() async throws {
        let test = try StoreUnderTest(on: nfs)
        try test.store.put("a", pattern(1000))
        var keys: [String] = []
        try test.store.list(by: .created) {
            keys.append($0.key.value)
            return true
        }
        #expect(keys == ["a"])
        #expect(try await test.store.sweep()?.orphans == 0)
        #expect(try test.store.has("a"))
    }

    // MARK: Bodies

    @Test func `a file that another machine has replaced is not served`() throws {
        let test = try StoreUnderTest(on: nfs)
        let stored = try test.store.put("a", pattern(1000))
        let path = test.store.paths.body(stored.id)
        #expect(unlink(path) == 0)
        try Data(pattern(1000, seed: 2)).write(to: URL(fileURLWithPath: path))
        #expect(try test.store.read("a") == nil)
        #expect(try !test.store.has("a"))
    }

    @Test func `a purge is seen by stores that read the stamps instead of mapping them`() throws {
        let test = try StoreUnderTest(on: nfs)
        let other = try test.again(on: nfs)
        let generation = other.generation(of: "u")
        #expect(other.isCurrent(generation))
        try test.store.remove([key], invalidating: .resource("u"))
        #expect(!other.isCurrent(generation))
        #expect(test.store.generation(of: "u").epoch == other.generation(of: "u").epoch)
    }

    // MARK: Partials

    private func leavePartial(_ store: DiskStore) throws -> BodyWriter {
        let writer = try store.beginBody(for: key)
        try writer.start(header: Array("v1".utf8), total: Int64(body.count))
        try writer.write(body[..<(2 * block)])
        return writer
    }

    /// Writes the missing bytes and commits; returns their number.
    private func finish(_ writer: BodyWriter) throws -> Int {
        let held = writer.held
        if held == nil { try writer.start(header: Array("v1".utf8), total: Int64(body.count)) }
        var written = 0
        for range in held?.missing ?? [0..<Int64(body.count)] {
            if held != nil { try writer.resume(at: range.lowerBound) }
            try writer.write(body[Int(range.lowerBound)..<Int(range.upperBound)])
            written += range.count
        }
        #expect(try writer.commit(entry).all() == body)
        return written
    }

    /// Gives the only partial's record the name of another claim.
    private func setClaim(_ claim: Int64, in store: DiskStore) throws {
        let folder = store.paths.partials
        let record = try #require(DiskUsage.files(at: folder).first { $0.hasSuffix(".record") })
        let id = try #require(Paths.number(record.prefix(16)))
        #expect(rename("\(folder)/\(record)", store.paths.record(id, claim: claim)) == 0)
    }

    @Test func `a partial in use is not claimed, even if locks have no effect`() throws {
        let test = try StoreUnderTest(on: nfs)
        let other = try test.again(on: nfs)
        let writer = try leavePartial(test.store)
        // As if the lock had no effect.
        try #require(writer.partial).data.unlock()
        let second = try other.beginBody(for: key)
        #expect(second.held == nil)
        #expect(try finish(second) == body.count)
        #expect(try other.partials().map(\.isInUse) == [true])
        #expect(try finish(writer, from: 2) == 2 * block)
        #expect(try test.store.read("k") == body)
    }

    private func finish(_ writer: BodyWriter, from blocks: Int) throws -> Int {
        try writer.write(body[(blocks * block)...])
        #expect(try writer.commit(entry).all() == body)
        return body.count - blocks * block
    }

    @Test func `a partial of a process that has ended is taken over where it is`() throws {
        let test = try StoreUnderTest(on: nfs)
        var writer: BodyWriter? = try leavePartial(test.store)
        _ = consume writer
        writer = nil
        try setClaim(Claim.of(process: 4_194_303), in: test.store)
        #expect(try finish(test.again(on: nfs).beginBody(for: key)) == 2 * block)
        #expect(DiskUsage.files(at: test.store.paths.partials).isEmpty)
    }

    @Test func `a partial that a living process has kept is free`() throws {
        let test = try StoreUnderTest(on: nfs)
        try leavePartial(test.store).keep()
        let record = try #require(
            DiskUsage.files(at: test.store.paths.partials).first { $0.hasSuffix(".record") })
        let claim = try #require(Paths.number(record.split(separator: ".")[1]))
        #expect(claim >> 20 & 0x3F_FFFF == 0)
        #expect(try finish(test.again(on: nfs).beginBody(for: key)) == 2 * block)
    }

    @Test func `a partial of another machine is resumed in a copy, even if that machine still writes`() throws {
        let test = try StoreUnderTest(on: nfs)
        let writer = try leavePartial(test.store)
        let file = try #require(writer.partial).data
        file.unlock()
        try setClaim(Claim.new() ^ 1 << 50, in: test.store)
        let second = try test.again(on: nfs).beginBody(for: key)
        #expect(second.held?.bytesHeld == Int64(2 * block))
        // Another representation, in the file of the other machine.
        try file.write(pattern(4 * block, seed: 9), at: 0)
        #expect(try finish(second) == 2 * block)
        #expect(try test.store.read("k") == body)
        #expect(file.status?.links == 1)
    }

    @Test func `a sweep keeps a body that a living process is writing`() async throws {
        let test = try StoreUnderTest(on: nfs)
        let writer = try leavePartial(test.store)
        try #require(writer.partial).data.unlock()
        let other = try test.again(on: nfs)
        #expect(try await other.sweep() != nil)
        _ = try other.withIndex { (index) throws(StoreError) in try index.dropPartials(olderThan: nil) }
        #expect(try finish(writer, from: 2) == 2 * block)
    }
}
