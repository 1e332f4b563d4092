import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

/// Modifications of a partial's files by other processes.
@Suite struct AlteredPartialTests {
    private static let block = Int(BlockMap.blockSize)

    @Test(arguments: [1, 2, 5], [false, true])
    func `bytes that another process writes into a partial in use are never committed`(blocks: Int, isResumed: Bool)
        throws
    {
        var generator = SeededGenerator(for: "AlteredPartial, \(blocks), \(isResumed)")
        let test = try StoreUnderTest()
        var altered = 0
        for round in 0..<30 {
            let size = blocks * Self.block + Int.random(in: 1...Self.block, using: &generator)
            let body = pattern(size, seed: UInt64(round))
            let key = "\(round)"
            var writer = try test.store.beginBody(for: EntryKey(key))
            try writer.start(header: [1], total: round % 3 == 0 ? nil : Int64(size))
            if isResumed {
                try writer.write(body[..<Int.random(in: Self.block..<size, using: &generator)])
                try writer.keep()
                writer = try test.store.beginBody(for: EntryKey(key))
                try writer.resume(at: writer.held?.missing.first?.lowerBound ?? 0, total: Int64(size))
            }
            let moment = Int.random(in: Int(writer.bytesHeld)...size, using: &generator)
            try writer.write(body[Int(writer.bytesHeld)..<moment])
            try damage(test, using: &generator)
            try writer.write(body[moment...])
            // Intact blocks are still held, and the rest can be fetched.
            while try !isCommitted(writer, key) {
                altered += 1
                try complete(writer, body)
            }
            #expect(try test.store.read(key) == body, "round \(round)")
            try test.store.remove(EntryKey(key))
        }
        #expect(altered > 0)
        #expect(try test.store.verify().failed == 0)
        #expect(DiskUsage.files(at: "\(test.path)/partials").isEmpty)
    }

    private func isCommitted(_ writer: BodyWriter, _ key: String) throws -> Bool {
        do throws(StoreError) {
            _ = try writer.commit(NewEntry(key: EntryKey(key), url: "", metadata: []))
            return true
        } catch {
            guard error.code == .altered else { throw error }
            return false
        }
    }

    private func complete(_ writer: BodyWriter, _ body: [UInt8]) throws {
        guard let held = writer.held else {
            try writer.start(header: [1], total: Int64(body.count))
            try writer.write(body)
            return try writer.endRange(complete: true)
        }
        for range in held.missing {
            try writer.resume(at: range.lowerBound, total: Int64(body.count))
            try writer.write(body[Int(range.lowerBound)..<min(body.count, Int(clamping: range.upperBound))])
            try writer.endRange(complete: true)
        }
    }

    /// Overwrites, lengthens or shortens the data, or overwrites the checksums.
    private func damage(_ test: StoreUnderTest, using generator: inout SeededGenerator) throws {
        let isRecord = Int.random(in: 0..<5, using: &generator) == 0
        let names = DiskUsage.files(at: "\(test.path)/partials")
        guard let name = names.first(where: { $0.hasSuffix(isRecord ? ".record" : ".data") }) else { return }
        let path = "\(test.path)/partials/\(name)"
        let size = try #require(FileStatus(at: path)).size
        if !isRecord, Int.random(in: 0..<5, using: &generator) == 0 {
            #expect(truncate(path, off_t(Int64.random(in: 0...size * 2, using: &generator))) == 0)
            return
        }
        let noise = (0..<Int.random(in: 1...600, using: &generator)).map { _ in
            UInt8.random(in: 0...255, using: &generator)
        }
        // A record is damaged where its checksums stand, at its end.
        let offset = isRecord ? max(0, size - 16) : Int64.random(in: 0...max(0, size - 1), using: &generator)
        let file = open(path, O_WRONLY)
        defer { close(file) }
        #expect(pwrite(file, noise, isRecord ? min(16, noise.count) : noise.count, off_t(offset)) > 0)
    }
}
