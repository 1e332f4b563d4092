import Digests
import Glibc

/// A file that may have bytes of a body: the beginning, which another program has left, or pieces of an older version.
package final class SeedFile: Sendable {
    private let descriptor: Int32
    /// The length in bytes.
    package let size: Int64

    /// `nil` if it is not a regular file with content that can be read.
    package init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        var status = stat()
        let isFile = descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        size = Int64(status.st_size)
        guard isFile, size > 0 else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Reads bytes at an offset until the buffer is full.
    ///
    /// - Returns: The number of bytes that were read: fewer at the end of the file, or after an error.
    package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while count < buffer.count {
            let read = pread(
                descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count, off_t(offset + Int64(count)))
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { break }
            count += read
        }
        return count
    }

    /// Returns true if the bytes of a range have a digest.
    func has(_ digest: [UInt8], _ algorithm: DigestAlgorithm, at range: Range<Int64>) -> Bool {
        range.upperBound <= size && (try? BodyDigest.digest(algorithm, ofFile: descriptor, range)) == digest
    }
}

/// Bytes of a body that files have, at known places. They may be wrong: the digest of the whole decides.
package protocol BodySeed: AnyObject, Sendable {
    /// The length of the body in bytes.
    var total: Int64 { get }
    /// The ranges that no file has, in order.
    var missing: [Range<Int64>] { get }

    /// Reads a range without missing bytes into a buffer of its length. Returns false if a file has changed.
    func read(_ range: Range<Int64>, into buffer: UnsafeMutableRawBufferPointer) -> Bool
}

/// The pieces of a body that files have at the places where they belong, by their digests.
final class SeededPieces: BodySeed {
    private let pieces: PieceDigests
    let total: Int64
    /// The file that has each piece; `nil` for pieces that none has.
    private let files: [SeedFile?]

    /// Reads all of the files' pieces.
    init(_ pieces: PieceDigests, total: Int64, in seeds: [SeedFile]) {
        self.pieces = pieces
        self.total = total
        files = pieces.digests.enumerated().map { index, digest in
            let range = Self.range(index, pieces, total)
            return seeds.first { $0.has(digest, pieces.algorithm, at: range) }
        }
    }

    private static func range(_ index: Int, _ pieces: PieceDigests, _ total: Int64) -> Range<Int64> {
        let start = Int64(index) * pieces.length
        return start..<min(start + pieces.length, total)
    }

    var missing: [Range<Int64>] {
        files.indices.filter { files[$0] == nil }.map { Self.range($0, pieces, total) }.merged(over: 0)
    }

    func read(_ range: Range<Int64>, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        var position = range.lowerBound
        while position < range.upperBound {
            let index = Int(position / pieces.length)
            guard let file = files[index] else { return false }
            let end = min(range.upperBound, Int64(index + 1) * pieces.length)
            let part = Int(position - range.lowerBound)..<Int(end - range.lowerBound)
            guard file.read(at: position, into: .init(rebasing: buffer[part])) == part.count else { return false }
            position = end
        }
        return true
    }
}

extension [Range<Int64>] {
    /// Ranges in order, of which those with a gap of at most so many bytes are one.
    func merged(over gap: Int64) -> [Range<Int64>] {
        reduce(into: []) { ranges, range in
            if let last = ranges.last, range.lowerBound - last.upperBound <= gap {
                ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            } else {
                ranges.append(range)
            }
        }
    }

    /// The parts of these ranges that are in other ones. Both are in order, without overlap.
    func intersection(_ others: [Range<Int64>]) -> [Range<Int64>] {
        var parts: [Range<Int64>] = []
        var index = 0
        for range in self {
            while index < others.count, others[index].upperBound <= range.lowerBound { index += 1 }
            var other = index
            while other < others.count, others[other].lowerBound < range.upperBound {
                parts.append(range.clamped(to: others[other]))
                other += 1
            }
        }
        return parts
    }
}
