import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

private let block = Int(BlockMap.blockSize)

@Suite struct ResumeTests {
    private let key = EntryKey("k")
    private let entry = NewEntry(key: EntryKey("k"), url: "u", metadata: [])

    /// A partial of `body` that holds its first `count` bytes, left as a kill would leave it.
    private func leavePartial(_ test: StoreUnderTest, _ body: [UInt8], count: Int, total: Bool = true) throws {
        let writer = try test.store.beginBody(for: key)
        try writer.start(header: Array("v1".utf8), total: total ? Int64(body.count) : nil)
        try writer.write(body[..<count])
        // No `keep`: the writer just goes away.
    }

    /// Fetches the missing bytes and commits. Returns their number.
    private func finish(_ store: DiskStore, _ body: [UInt8]) throws -> Int {
        let writer = try store.beginBody(for: key)
        guard let held = writer.held else { throw StoreError(.incomplete, "nothing is held") }
        #expect(held.header == Array("v1".utf8))
        var fetched = 0
        for range in held.missing {
            let end = min(Int(clamping: range.upperBound), body.count)
            try writer.resume(at: range.lowerBound)
            for start in stride(from: Int(range.lowerBound), to: end, by: 16_384) {
                try writer.write(body[start..<min(end, start + 16_384)])
            }
            try writer.endRange(complete: true)
            fetched += end - Int(range.lowerBound)
        }
        #expect(try writer.commit(entry).all() == body)
        #expect(try store.read("k") == body)
        #expect(DiskUsage.files(at: store.directory + "/partials").isEmpty)
        return fetched
    }

    private func dataPath(_ test: StoreUnderTest) throws -> String {
        let name = try #require(DiskUsage.files(at: test.path + "/partials").first { $0.hasSuffix(".data") })
        return "\(test.path)/partials/\(name)"
    }

    private func recordPath(_ test: StoreUnderTest) throws -> String {
        let name = try #require(DiskUsage.files(at: test.path + "/partials").first { $0.hasSuffix(".record") })
        return "\(test.path)/partials/\(name)"
    }

    private func change(_ path: String, at offset: Int, to bytes: [UInt8]) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: bytes)
        try file.close()
    }

    @Test(arguments: [true, false])
    func `only the unfinished block is fetched again after a kill`(knowsTotal: Bool) throws {
        let test = try StoreUnderTest()
        let body = pattern(5 * block + 1234)
        try leavePartial(test, body, count: 3 * block + 777, total: knowsTotal)
        #expect(try finish(test.again(), body) == body.count - 3 * block)
    }

    @Test(arguments: [true, false])
    func `a child process that has just been forked does not keep a partial from its next writer`(isKept: Bool) throws {
        let test = try StoreUnderTest()
        let body = pattern(5 * block)
        var writer: BodyWriter? = try test.store.beginBody(for: key)
        try writer?.start(header: Array("v1".utf8), total: Int64(body.count))
        try writer?.write(body[..<(2 * block)])
        let data = try #require(FileStatus(at: dataPath(test))).identity
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let number = open.first { number in
            var status = stat()
            return fstat(number, &status) == 0 && FileStatus(status).identity == data
        }
        // As the child has it: the same open file.
        let copy = dup(try #require(number))
        defer { close(copy) }
        if isKept { try writer?.keep() }
        writer = nil
        #expect(try finish(test.again(), body) == body.count - 2 * block)
    }

    @Test(arguments: [true, false])
    func `nothing is fetched again after an orderly stop`(knowsTotal: Bool) throws {
        let test = try StoreUnderTest()
        let body = pattern(4 * block)
        let writer = try test.store.beginBody(for: key)
        try writer.start(header: Array("v1".utf8), total: knowsTotal ? Int64(body.count) : nil)
        try writer.write(body[..<(2 * block + 5)])
        try writer.keep()
        #expect(try test.store.partial(for: key)?.bytesHeld == Int64(2 * block + 5))
        #expect(try finish(test.again(), body) == 2 * block - 5)
    }

    @Test func `ten cuts in a row cost nothing but their unfinished blocks`() throws {
        let test = try StoreUnderTest()
        let body = pattern(12 * block)
        try leavePartial(test, body, count: block)
        for cut in 1...9 {
            let writer = try test.again().beginBody(for: key)
            let held = try #require(writer.held)
            #expect(held.missing == [Int64(cut * block)..<Int64(body.count)])
            try writer.resume(at: held.missing[0].lowerBound)
            try writer.write(body[(cut * block)..<((cut + 1) * block + 99)])
        }
        #expect(try finish(test.again(), body) == 2 * block)
    }

    @Test
    func `an interruption within one process resumes in the middle of a block, also for a body in memory`() throws {
        let test = try StoreUnderTest()
        for size in [50_000, 3 * block] {
            let body = pattern(size)
            let writer = try test.store.beginBody(for: key)
            #expect(writer.held == nil)
            try writer.start(header: [1], total: Int64(size))
            #expect(writer.held == nil)
            try writer.write(body[..<20_000])
            try writer.endRange(complete: false)
            #expect(writer.held?.missing == [20_000..<Int64(size)])
            try writer.resume(at: 20_000)
            try writer.write(body[20_000...])
            #expect(try writer.commit(entry).all() == body)
        }
    }

    @Test func `only a zeroed tail, as a power cut leaves it, is fetched again`() throws {
        let test = try StoreUnderTest()
        let body = pattern(6 * block)
        try leavePartial(test, body, count: 5 * block)
        try change(dataPath(test), at: 3 * block + 100, to: [UInt8](repeating: 0, count: 2 * block - 100))
        #expect(try finish(test.again(), body) == 3 * block)
    }

    @Test func `a flipped byte costs its block`() throws {
        let test = try StoreUnderTest()
        let body = pattern(6 * block)
        try leavePartial(test, body, count: 5 * block)
        try change(dataPath(test), at: 2 * block + 17, to: [body[2 * block + 17] ^ 1])
        let writer = try test.again().beginBody(for: key)
        #expect(writer.held?.missing == [Int64(2 * block)..<Int64(3 * block), Int64(5 * block)..<Int64(6 * block)])
        try writer.keep()
        #expect(try finish(test.again(), body) == 2 * block)
    }

    @Test func `data that was cut short counts only as far as it goes`() throws {
        let test = try StoreUnderTest()
        let body = pattern(6 * block)
        try leavePartial(test, body, count: 5 * block)
        #expect(truncate(try dataPath(test), off_t(2 * block + 1)) == 0)
        #expect(try finish(test.again(), body) == 4 * block)
    }

    @Test(arguments: [
        (offset: 0, bytes: Array("GARBAGE!".utf8)), (offset: 16, bytes: [1]), (offset: 66, bytes: [0xFF]),
        (offset: 32, bytes: [0xFF, 0xFF, 0xFF, 0x7F]),
    ])
    func `a damaged or foreign record is not a partial, and is deleted`(offset: Int, bytes: [UInt8]) throws {
        let test = try StoreUnderTest()
        try leavePartial(test, pattern(3 * block), count: 2 * block)
        try change(recordPath(test), at: offset, to: bytes)
        let writer = try test.again().beginBody(for: key)
        #expect(writer.held == nil)
        #expect(DiskUsage.files(at: test.path + "/partials").isEmpty)
        #expect(try test.store.statistics().partialBytes == 0)
    }

    @Test func `another body's data under a partial's name is fetched again, all of it`() throws {
        let test = try StoreUnderTest()
        let body = pattern(3 * block)
        try leavePartial(test, body, count: 2 * block)
        try Data(pattern(3 * block, seed: 99)).write(to: URL(fileURLWithPath: dataPath(test)))
        let writer = try test.again().beginBody(for: key)
        #expect(writer.held == nil)
        try writer.start(header: Array("v1".utf8), total: Int64(body.count))
        try writer.write(body)
        #expect(try writer.commit(entry).all() == body)
    }

    @Test func `starting again deletes the held bytes and uses a new file`() throws {
        let test = try StoreUnderTest()
        try leavePartial(test, pattern(3 * block), count: 2 * block)
        let old = try dataPath(test)
        let writer = try test.again().beginBody(for: key)
        let body = pattern(3 * block + 5, seed: 7)
        try writer.start(header: [2], total: Int64(body.count))
        #expect(!FileManager.default.fileExists(atPath: old))
        try writer.write(body)
        #expect(try writer.commit(entry).all() == body)
        #expect(try test.store.statistics().partialBytes == 0)
    }

    @Test func `a partial in use is not claimed by a second writer, and the last commit wins`() throws {
        let test = try StoreUnderTest()
        let other = try test.again()
        let body = pattern(3 * block)
        let first = try test.store.beginBody(for: key)
        try first.start(header: [1], total: Int64(body.count))
        try first.write(body[..<(2 * block)])
        #expect(try other.partial(for: key)?.isInUse == true)

        let second = try other.beginBody(for: key)
        #expect(second.held == nil)
        let newer = pattern(2 * block + 9, seed: 3)
        try second.start(header: [2], total: Int64(newer.count))
        try second.write(newer)
        try first.write(body[(2 * block)...])
        #expect(try first.commit(entry).all() == body)
        #expect(try second.commit(entry).all() == newer)
        #expect(try test.store.read("k") == newer)
        #expect(try test.store.entries(for: key).count == 1)
    }

    @Test func `without locks the rename of the record decides, and the loser cannot commit`() throws {
        let test = try StoreUnderTest()
        let body = pattern(3 * block)
        let first = try test.store.beginBody(for: key)
        try first.start(header: [1], total: Int64(body.count))
        try first.write(body)
        // Another process, on a file system without locks, takes the record over.
        let record = try recordPath(test)
        #expect(rename(record, record.replacingOccurrences(of: ".record", with: "x.record")) == 0)
        let error = #expect(throws: StoreError.self) { try first.commit(entry) }
        #expect(error?.code == .taken)
        #expect(try test.store.entries(for: key).isEmpty)
    }

    @Test func `a partial whose writer was killed between the claim and its row is found`() throws {
        let test = try StoreUnderTest()
        let body = pattern(3 * block)
        try leavePartial(test, body, count: 2 * block)
        let record = try recordPath(test)
        var parts = record.split(separator: ".").map(String.init)
        parts[parts.count - 2] = "00000000deadbeef"
        #expect(rename(record, "/" + parts.joined(separator: ".").drop { $0 == "/" }) == 0)
        #expect(try finish(test.again(), body) == block)
    }

    @Test(arguments: [false, true])
    func `a kill between the rename into place and the row costs no byte`(isReadOnly: Bool) throws {
        let test = try StoreUnderTest()
        let body = pattern(3 * block)
        try leavePartial(test, body, count: 3 * block)
        let data = try dataPath(test)
        let id = try #require(Paths.number((data as NSString).lastPathComponent.prefix(16)))
        if isReadOnly { chmod(data, 0o400) }
        try? FileManager.default.createDirectory(
            atPath: test.store.paths.folder(Paths.folderNumber(of: id)), withIntermediateDirectories: true)
        #expect(rename(data, test.store.paths.body(id)) == 0)
        let writer = try test.again().beginBody(for: key)
        #expect(writer.held?.missing == [])
        #expect(try writer.commit(entry).all() == body)
    }

    @Test
    func `a length that becomes known while resuming is accepted unless it is shorter than the held bytes`() throws {
        let test = try StoreUnderTest()
        let body = pattern(3 * block + 10)
        try leavePartial(test, body, count: 2 * block, total: false)
        let writer = try test.again().beginBody(for: key)
        let error = #expect(throws: StoreError.self) { try writer.resume(at: Int64(2 * block), total: Int64(block)) }
        #expect(error?.code == .wrongLength)
        try writer.resume(at: Int64(2 * block), total: Int64(body.count))
        #expect(writer.held?.missing == [Int64(2 * block)..<Int64(body.count)])
        try writer.write(body[(2 * block)..<(3 * block)])
        try writer.keep()
        let next = try test.again().beginBody(for: key)
        #expect(next.held?.total == Int64(body.count))
        #expect(next.held?.missing == [Int64(3 * block)..<Int64(body.count)])
    }

    @Test func `a body that was complete without a known length can be committed once the length is known`() throws {
        let test = try StoreUnderTest()
        let body = pattern(2 * block + 10)
        let first = try test.store.beginBody(for: key)
        try first.start(header: [1], total: nil)
        try first.write(body)
        try first.keep()
        let writer = try test.again().beginBody(for: key)
        #expect(writer.held?.bytesHeld == Int64(body.count))
        try writer.resume(at: Int64(body.count), total: Int64(body.count))
        #expect(try writer.commit(entry).all() == body)
    }

    @Test func `a writer resumes only at the start of a missing range`() throws {
        let test = try StoreUnderTest()
        try leavePartial(test, pattern(3 * block), count: 2 * block)
        let writer = try test.again().beginBody(for: key)
        for offset in [0, 1, Int64(2 * block) + 1, Int64(3 * block)] {
            let error = #expect(throws: StoreError.self) { try writer.resume(at: offset) }
            #expect(error?.code == .incomplete)
        }
        try writer.resume(at: Int64(2 * block))
    }

    @Test func `segments may come in any order`() throws {
        let test = try StoreUnderTest()
        let body = pattern(6 * block + 3)
        try leavePartial(test, body, count: 6 * block)
        try change(dataPath(test), at: 0, to: [body[0] ^ 1])
        try change(dataPath(test), at: 3 * block, to: [body[3 * block] ^ 1])
        let writer = try test.again().beginBody(for: key)
        let missing = try #require(writer.held).missing
        #expect(missing.count == 3)
        for range in missing.reversed() {
            try writer.resume(at: range.lowerBound)
            try writer.write(body[Int(range.lowerBound)..<Int(range.upperBound)])
            try writer.endRange(complete: true)
        }
        let stored = try writer.commit(entry)
        #expect(try stored.all() == body)
        #expect(try test.store.checksum(of: stored.file, size: stored.size) == stored.entry.checksum)
    }

    @Test func `a growing file can be read up to its first gap, also during the commit`() throws {
        let test = try StoreUnderTest()
        let body = pattern(3 * block)
        let writer = try test.store.beginBody(for: key)
        try writer.start(header: [], total: Int64(body.count))
        try writer.write(body[..<(block + 50)])
        #expect(writer.availableEnd == Int64(block))
        let descriptor = try #require(writer.readHandle())
        defer { close(descriptor) }
        try writer.write(body[(block + 50)...])
        #expect(writer.availableEnd == Int64(body.count))
        _ = try writer.commit(entry)
        var bytes = [UInt8](repeating: 0, count: body.count)
        #expect(pread(descriptor, &bytes, bytes.count, 0) == body.count)
        #expect(bytes == body)
    }

    @Test func `a body that is discarded leaves nothing`() throws {
        let test = try StoreUnderTest()
        let writer = try test.store.beginBody(for: key)
        try writer.start(header: [], total: Int64(4 * block))
        try writer.write(pattern(2 * block))
        try writer.discard()
        #expect(DiskUsage.files(at: test.path + "/partials").isEmpty)
        #expect(try test.store.statistics().partialBytes == 0)
        #expect(try test.store.partial(for: key) == nil)
    }
}
