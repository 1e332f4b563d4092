package import Digests
import Glibc

extension ZsyncControl {
    /// The control file of a file, which is read once.
    ///
    /// - Parameters:
    ///   - length: The length of the file in bytes.
    ///   - blockSize: The length of a block in bytes.
    ///   - filename: The name for the file, without a folder; nil for the one in the URL.
    ///   - url: The URL of the file, which may be relative to the control file's; nil if it is added later.
    ///   - read: Reads bytes at an offset until the buffer is full, and returns their number.
    /// - Returns: nil if the file is shorter than its length, or cannot be read.
    package static func made(
        length: Int64, blockSize: Int, filename: String? = nil, url: String? = nil,
        read: (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int
    ) throws(DigestUnavailable) -> ZsyncControl? {
        var maker = Maker(length: length, blockSize: blockSize)
        let digest = try RunningDigest(.sha1)
        let piece = max(blockSize, 1 << 20)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 64)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while position < length {
            let wanted = Int(min(Int64(piece), length - position))
            let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            guard read(position, bytes) == wanted else { return nil }
            digest.update(UnsafeRawBufferPointer(bytes))
            // The last block is filled up with zeros.
            let filled = (wanted + blockSize - 1) / blockSize * blockSize
            UnsafeMutableRawBufferPointer(rebasing: buffer[wanted..<filled]).initializeMemory(
                as: UInt8.self, repeating: 0)
            for start in stride(from: 0, to: filled, by: blockSize) {
                maker.add(UnsafeRawBufferPointer(rebasing: buffer[start..<start + blockSize]))
            }
            position += Int64(wanted)
        }
        return maker.finished(filename: filename, url: url, sha1: Digest(.sha1, digest.finish()))
    }

    /// The usual block size for a file of a length, as `zsyncmake` chooses it; larger for very large files.
    ///
    /// - Parameter mostBlocks: The number of blocks that is not reached, up to the greatest block size.
    package static func blockSize(for length: Int64, mostBlocks: Int64 = ZsyncControl.mostBlocks) -> Int {
        var size = length < 100_000_000 ? 2048 : 4096
        while length / Int64(size) >= mostBlocks, size < blockSizes.upperBound { size *= 2 }
        return size
    }

    /// The checksums of a file, made block by block.
    package struct Maker {
        private var control: ZsyncControl

        /// - Parameter length: The length of the file in bytes.
        package init(length: Int64, blockSize: Int) {
            // As zsyncmake: one false match in a million files, if the blocks are random.
            let blocks = Double(max(1, (length + Int64(blockSize) - 1) / Int64(blockSize)))
            let run = length > Int64(blockSize) ? 2 : 1
            let size = max(1, Double(length))
            let rolling = Int(((log2(size) + log2(Double(blockSize))) / Double(run) / 8 - 0.6).rounded(.up))
            let byCollisions = ((20 + (log2(size) + log2(1 + blocks)) / Double(run)) / 8).rounded(.up)
            let byBlocks = ((20 + log2(1 + blocks)) / 8 + 0.9).rounded(.down)
            control = ZsyncControl(
                length: length, blockSize: blockSize, run: run, rollingBytes: min(4, max(2, rolling)),
                strongBytes: min(16, max(4, Int(max(byCollisions, byBlocks)))), checksums: [])
        }

        /// Adds a block; the last one is filled up with zeros.
        package mutating func add(_ block: UnsafeRawBufferPointer) {
            let sum = RollingChecksum(block).value
            for byte in (0..<control.rollingBytes).reversed() {
                control.checksums.append(UInt8(truncatingIfNeeded: sum >> (8 * UInt32(byte))))
            }
            let digest = MD4.digest(block)
            for place in 0..<control.strongBytes {
                control.checksums.append(UInt8(truncatingIfNeeded: digest[place / 4] >> (8 * UInt32(place % 4))))
            }
        }

        package func finished(filename: String?, url: String?, sha1: Digest?) -> ZsyncControl {
            var control = control
            (control.filename, control.url, control.sha1) = (filename, url, sha1)
            return control
        }
    }
}
