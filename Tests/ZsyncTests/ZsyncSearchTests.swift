import Digests
import TestSupport
import Testing

@testable import Zsync

@Suite("The search for blocks")
struct ZsyncSearchTests {
    private static let sha1 = Digest(.sha1, hexadecimal: String(repeating: "0", count: 40))

    private func bytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
        (0..<count).map { _ in .random(in: 0...255, using: &random) }
    }

    private func control(_ file: [UInt8], _ blockSize: Int, run: Int? = nil) -> ZsyncControl {
        var maker = ZsyncControl.Maker(length: Int64(file.count), blockSize: blockSize)
        let padded = file + [UInt8](repeating: 0, count: (blockSize - file.count % blockSize) % blockSize)
        padded.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: padded.count, by: blockSize) {
                maker.add(.init(rebasing: bytes[start..<start + blockSize]))
            }
        }
        var control = maker.finished(filename: "f", url: "f", sha1: Self.sha1)
        if let run { control.run = run }
        return control
    }

    private func search(_ control: ZsyncControl, in seeds: [[UInt8]]) -> ZsyncSearch {
        var search = ZsyncSearch(control)
        for (index, seed) in seeds.enumerated() {
            let isDone = search.search(index, size: Int64(seed.count)) { offset, buffer in
                let part = seed[min(Int(offset), seed.count)..<min(Int(offset) + buffer.count, seed.count)]
                buffer.copyBytes(from: part)
                return part.count
            }
            #expect(isDone)
        }
        return search
    }

    /// Checks each place against the bytes, and returns the blocks that were found.
    private func found(_ search: ZsyncSearch, _ control: ZsyncControl, _ file: [UInt8], in seeds: [[UInt8]]) -> Set<Int>
    {
        var found: Set<Int> = []
        for index in 0..<control.blockCount {
            guard let place = search.place(ofBlock: index) else { continue }
            let range = control.range(ofBlock: index)
            let seed = seeds[place.seed]
            let isWithin = Int(place.offset) + range.count <= seed.count
            #expect(isWithin)
            guard isWithin else { continue }
            #expect(
                seed[Int(place.offset)..<Int(place.offset) + range.count]
                    .elementsEqual(file[Int(range.lowerBound)..<Int(range.upperBound)]))
            found.insert(index)
        }
        return found
    }

    @Test(arguments: [1, 2], [256, 2048])
    func `a file that is its own seed is found completely, whatever its length`(run: Int, blockSize: Int) {
        var random = SeededGenerator(for: "zsync, the same file")
        for count in [1, 255, 256, 257, 511, 512, 2048, 2049, 6000, 10_000] {
            let file = bytes(count, &random)
            let control = control(file, blockSize, run: run)
            let search = search(control, in: [file])
            #expect(search.missing.isEmpty, "\(count) bytes")
            #expect(found(search, control, file, in: [file]).count == control.blockCount)
        }
    }

    @Test(arguments: [1, 2])
    func `bytes that were inserted, removed and changed cost the blocks around them`(run: Int) {
        var random = SeededGenerator(for: "zsync, edits")
        for _ in 0..<60 {
            let old = bytes(Int.random(in: 20_000...60_000, using: &random), &random)
            var new = old
            let edits = Int.random(in: 0...6, using: &random)
            for _ in 0..<edits {
                let place = Int.random(in: 0..<new.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: new.insert(contentsOf: bytes(.random(in: 1...700, using: &random), &random), at: place)
                case 1: new.removeSubrange(place..<min(new.count, place + .random(in: 1...700, using: &random)))
                default: new[place] ^= 0xFF
                }
            }
            let control = control(new, 512, run: run)
            let search = search(control, in: [old])
            let found = found(search, control, new, in: [old])
            // Each edit touches up to 700 bytes, and blocks before it may need a successor.
            #expect(control.blockCount - found.count <= edits * 6)
            let missing = search.missing.reduce(0) { $0 + Int64($1.count) }
            let known = found.reduce(0) { $0 + Int64(control.range(ofBlock: $1).count) }
            #expect(missing + known == Int64(new.count))
        }
    }

    @Test func `blocks of several seeds are found, the first seed first`() {
        var random = SeededGenerator(for: "zsync, seeds")
        let (a, b) = (bytes(8192, &random), bytes(8192, &random))
        let file = b + a
        let control = control(file, 1024)
        let seeds = [a, a + b]
        let search = search(control, in: seeds)
        #expect(found(search, control, file, in: seeds).count == 16)
        #expect(search.place(ofBlock: 8)?.seed == 0 && search.place(ofBlock: 0)?.seed == 1)
    }

    @Test func `equal blocks are searched once, in a time that does not grow with their square`() {
        let file = [UInt8](repeating: 0, count: 2_000_000)
        let control = control(file, 256)
        let search = search(control, in: [file])
        #expect(search.missing.isEmpty)
    }

    @Test func `a control file whose blocks all have one rolling checksum finds nothing, and ends`() {
        var random = SeededGenerator(for: "zsync, lies")
        var control = control(bytes(256 * 4000, &random), 256)
        let length = control.rollingBytes + control.strongBytes
        for index in 0..<control.blockCount {
            for byte in 0..<control.rollingBytes { control.checksums[index * length + byte] = 0 }
        }
        let zeros = [UInt8](repeating: 0, count: 300_000)
        let search = search(control, in: [zeros])
        #expect(search.missing == [0..<control.length])
    }

    @Test func `an empty file has no blocks, and an empty seed contains none`() {
        #expect(search(control([], 256), in: [[1]]).missing.isEmpty)
        #expect(search(control([1, 2, 3], 256), in: [[]]).missing == [0..<3])
    }
}
