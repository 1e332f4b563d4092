import Digests
import Glibc

/// A file that may have bytes of a body: the beginning, which another program has left, or pieces of an older version.
final class SeedFile {
    private let descriptor: Int32
    /// The length in bytes.
    let size: Int64

    /// `nil` if it is not a regular file with content that can be read.
    init?(_ path: String) {
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
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
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

/// The pieces of a body that files have at the places where they belong, by their digests.
struct SeededPieces {
    private let pieces: PieceDigests
    private let total: Int64
    /// The file that has each piece; `nil` for pieces that none has.
    private let files: [SeedFile?]

    /// Reads all of the files' pieces.
    init(_ pieces: PieceDigests, total: Int64, in seeds: [SeedFile]) {
        self.pieces = pieces
        self.total = total
        files = pieces.digests.enumerated().map { index, digest in
            let start = Int64(index) * pieces.length
            let range = start..<min(start + pieces.length, total)
            return seeds.first { $0.has(digest, pieces.algorithm, at: range) }
        }
    }

    var isEmpty: Bool { files.allSatisfy { $0 == nil } }

    /// Reads a range into a buffer of its length. Returns false if a piece of it is missing.
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
