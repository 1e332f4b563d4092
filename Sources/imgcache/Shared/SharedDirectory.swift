import Glibc

/// A directory that several processes use, each from ``init(_:)`` to ``release()``. The last one may delete it.
///
/// Each process holds a shared `flock` on the directory itself, which the kernel releases when it dies.
final class SharedDirectory: Sendable {
    private let descriptor: Int32

    /// Creates the directory, and its parent, if necessary.
    ///
    /// - Throws: ``Failure`` if it can neither be created nor opened, or is still being deleted after 10 seconds.
    init(_ path: String) throws {
        for _ in 0..<100 {
            guard Self.make(path) else { throw Self.failure(path, errno) }
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 || errno == ENOENT else { throw Self.failure(path, errno) }
            // On file systems without locks (some network file systems) it is used without one.
            let isBeingDeleted = descriptor < 0 || flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
            if !isBeingDeleted, Self.isAt(path, descriptor) {
                self.descriptor = descriptor
                return
            }
            close(descriptor)
            if isBeingDeleted { usleep(100_000) }
        }
        throw Self.failure(path, EBUSY)
    }

    deinit { close(descriptor) }

    private static func isAt(_ path: String, _ descriptor: Int32) -> Bool {
        var (named, opened) = (stat(), stat())
        guard stat(path, &named) == 0, fstat(descriptor, &opened) == 0 else { return false }
        return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    private static func make(_ path: String) -> Bool {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return true }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/") else { return false }
        _ = mkdir(String(path[..<slash]), 0o777)
        return mkdir(path, 0o700) == 0 || errno == EEXIST
    }

    private static func failure(_ path: String, _ number: Int32) -> Failure {
        Failure(.store, "\(path): \(errorText(number))")
    }

    /// Ends this process's use of the directory.
    ///
    /// - Returns: True if no other process uses the directory. None can start to use it until this value is released.
    func release() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }
}
