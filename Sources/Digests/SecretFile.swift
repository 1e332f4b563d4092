import Glibc

/// A small file of secrets, which must not be readable or writable by others.
package enum SecretFile {
    /// The reason why a file cannot be used, as text to follow its path.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        fileprivate static func system() -> Failure { Failure(description: String(cString: strerror(errno))) }
    }

    /// The content of a file.
    ///
    /// - Parameters:
    ///   - limit: The greatest size in bytes.
    ///   - isRegular: True if it must be a regular file: reading a pipe may block indefinitely.
    package static func content(of path: String, limit: Int = 64 << 10, isRegular: Bool) throws(Failure) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (isRegular ? O_NONBLOCK : 0))
        guard descriptor >= 0 else { throw .system() }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system() }
        guard !isRegular || status.st_mode & S_IFMT == S_IFREG else { throw Failure(description: "is not a file") }
        guard status.st_mode & 0o006 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw Failure(description: "everybody may read or change it (mode \(mode)); chmod 600 it")
        }
        guard let text = String(validating: try read(descriptor, limit: limit), as: UTF8.self) else {
            throw Failure(description: "is not text in UTF-8")
        }
        return text
    }

    private static func read(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var count = 0
        while count <= limit {
            let got = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw .system() }
            if got == 0 { break }
            count += got
        }
        guard count <= limit else { throw Failure(description: "is larger than \(limit >> 10) KiB") }
        return Array(bytes[..<count])
    }
}
