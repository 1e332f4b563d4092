import Glibc

/// A small file of secrets, which must not be readable or writable by others.
package enum SecretFile {
    /// The reason why a file cannot be used, as text to follow its path.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }

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
        let bytes: [UInt8]
        do throws(LimitedFile.Failure) { bytes = try LimitedFile.bytes(from: descriptor, limit: limit) } catch {
            throw Failure(description: error.description)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(description: "is not text in UTF-8")
        }
        return text
    }
}
