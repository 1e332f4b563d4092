import Glibc

/// A file of another program that begins with the bytes of a body.
final class AdoptedFile {
    /// The number of bytes of one read.
    private static let piece = 1 << 20

    private let descriptor: Int32
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)

    /// `nil` if it is not a regular file with content that can be read.
    init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
        else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        buffer.deallocate()
    }

    /// The next bytes, which are valid until the next call; `nil` at the end of the file, or after an error.
    func next() -> UnsafeRawBufferPointer? {
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        return count > 0 ? UnsafeRawBufferPointer(rebasing: buffer[..<count]) : nil
    }
}
