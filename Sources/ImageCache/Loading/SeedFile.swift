import Digests
import DiskStore
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
        readBytes(of: descriptor, into: buffer, at: offset) ?? 0
    }

    /// Returns true if the bytes of a range have a digest.
    func has(_ digest: [UInt8], _ algorithm: DigestAlgorithm, at range: Range<Int64>) -> Bool {
        range.upperBound <= size && (try? BodyDigest.digest(algorithm, ofFile: descriptor, range)) == digest
    }
}
