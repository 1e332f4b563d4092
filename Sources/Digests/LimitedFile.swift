import Glibc

/// Files that are read whole, up to a limit: whatever a path leads to, memory has a bound.
package enum LimitedFile {
    package enum Failure: Error, CustomStringConvertible {
        /// A system call failed with this `errno`.
        case system(Int32)
        /// There are more bytes than the limit.
        case tooLarge(limit: Int)
        /// A device, a pipe or a folder, where a regular file is wanted.
        case notRegular

        /// Text to follow a path.
        package var description: String {
            switch self {
            case .system(let number): String(cString: strerror(number))
            case .tooLarge(let limit) where limit >= 1 << 20: "is larger than \(limit >> 20) MiB"
            case .tooLarge(let limit): "is larger than \(limit >> 10) KiB"
            case .notRegular: "is not a file"
            }
        }
    }

    /// The content of a file.
    ///
    /// - Parameter isRegular: True if it must be a regular file: a pipe may block indefinitely.
    package static func bytes(of path: String, limit: Int, isRegular: Bool) throws(Failure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (isRegular ? O_NONBLOCK : 0))
        guard descriptor >= 0 else { throw .system(errno) }
        defer { close(descriptor) }
        if isRegular {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        }
        return try bytes(from: descriptor, limit: limit)
    }

    /// All bytes of a descriptor, up to its end.
    package static func bytes(from descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(limit + 1, 1 << 16))
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .system(errno) }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { throw .tooLarge(limit: limit) }
            bytes += chunk[..<count]
        }
    }
}
