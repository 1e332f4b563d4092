import ConcurrencyPrimitives
import TestSupport
import Testing

@testable import DiskStore

private let block = BlockMap.blockSize

/// A body that arrives at several places at once.
@Suite struct SegmentWriterTests {
    private func pattern(_ count: Int64) -> [UInt8] {
        (0..<Int(count)).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 11) }
    }

    private func write(_ range: Range<Int64>, of bytes: [UInt8], to writer: BodyWriter) throws {
        try Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]).withUnsafeBytes {
            try writer.write($0, at: range.lowerBound)
        }
    }

    @Test func `bytes written at several offsets form one body`() throws {
        let work = try StoreUnderTest()
        var generator = SeededGenerator(for: "SegmentWriter")
        let total = 9 * block + 1000
        let bytes = pattern(total)
        let writer = try work.store.beginBody(for: EntryKey("a"))
        try writer.start(header: [1], total: total)
        // The stream, and connections that begin at blocks.
        var places: [Int64] = [2, 5, 6, 8].map { $0 * block }
        let ends: [Int64] = [5 * block, 6 * block, 8 * block, total]
        var stream: Int64 = 0
        while stream < 2 * block || zip(places, ends).contains(where: { $0 < $1 }) {
            let count = Int64.random(in: 1...90_000, using: &generator)
            let index = Int.random(in: -1..<places.count, using: &generator)
            if index < 0 {
                let end = min(stream + count, 2 * block)
                _ = try Array(bytes[Int(stream)..<Int(end)]).withUnsafeBytes { try writer.write($0) }
                stream = end
            } else if places[index] < ends[index] {
                let end = min(places[index] + count, ends[index])
                try write(places[index]..<end, of: bytes, to: writer)
                places[index] = end
            }
            #expect(writer.bytesHeld == stream + zip(places, [2, 5, 6, 8]).reduce(0) { $0 + $1.0 - $1.1 * block })
        }
        #expect(writer.held?.missing == [])
        let body = try writer.commit(NewEntry(key: EntryKey("a"), url: "", metadata: []))
        #expect(try body.file.bytes(at: 0, count: Int(total)) == bytes)
    }

    @Test func `missing ranges are everything that has not arrived, at block boundaries or not`() throws {
        let work = try StoreUnderTest()
        let total = 6 * block
        let bytes = pattern(total)
        let writer = try work.store.beginBody(for: EntryKey("a"))
        try writer.start(header: [1], total: total)
        _ = try Array(bytes[..<1000]).withUnsafeBytes { try writer.write($0) }
        try write(2 * block..<3 * block + 7, of: bytes, to: writer)
        #expect(writer.held?.missing == [1000..<2 * block, 3 * block + 7..<total])
        // Another connection takes the stream's place, and a stream another one's.
        try write(1000..<block, of: bytes, to: writer)
        try writer.resume(at: 3 * block + 7)
        _ = try Array(bytes[Int(3 * block + 7)...]).withUnsafeBytes { try writer.write($0) }
        #expect(writer.held?.missing == [block..<2 * block])
        try writer.resume(at: block)
        _ = try Array(bytes[Int(block)..<Int(2 * block)]).withUnsafeBytes { try writer.write($0) }
        let body = try writer.commit(NewEntry(key: EntryKey("a"), url: "", metadata: []))
        #expect(try body.file.bytes(at: 0, count: Int(total)) == bytes)
    }

    @Test func `bytes at an offset that is not missing are refused`() throws {
        let work = try StoreUnderTest()
        let total = 4 * block
        let bytes = pattern(total)
        let writer = try work.store.beginBody(for: EntryKey("a"))
        #expect(throws: StoreError.self) { try write(0..<10, of: bytes, to: writer) }
        try writer.start(header: [1], total: total)
        try write(block..<2 * block, of: bytes, to: writer)
        #expect(throws: StoreError.self) { try write(block..<block + 10, of: bytes, to: writer) }
        #expect(throws: StoreError.self) { try write(2 * block + 5..<2 * block + 10, of: bytes, to: writer) }
        #expect(throws: StoreError.self) {
            try (bytes + [0]).withUnsafeBytes { try writer.write($0, at: 0) }
        }
    }

    @Test func `a kill with sixteen open ranges costs their unfinished blocks, and an orderly end all but one`() throws
    {
        let work = try StoreUnderTest()
        let total = 64 * block
        let bytes = pattern(total)
        for isOrderly in [false, true] {
            let key = EntryKey("\(isOrderly)")
            do {
                let writer = try work.store.beginBody(for: key)
                try writer.start(header: [1], total: total)
                for place in 0..<16 {
                    let start = Int64(place) * 4 * block
                    try write(start..<start + 2 * block + Int64(1000 * place), of: bytes, to: writer)
                }
                if isOrderly { try writer.keep() }
            }
            let next = try work.store.beginBody(for: key)
            let held = try #require(next.held)
            #expect(held.bytesHeld == 32 * block + (isOrderly ? 15_000 : 0))
            #expect(held.missing.count == 16)
            for missing in held.missing { try write(missing, of: bytes, to: next) }
            let body = try next.commit(NewEntry(key: key, url: "", metadata: []))
            #expect(try body.file.bytes(at: 0, count: Int(total)) == bytes)
        }
    }
}
