import Glibc
import Synchronization

/// A file descriptor that is closed with its last reference.
package final class OpenDescriptor: Sendable {
    package let number: Int32
    private let isKept = Atomic(false)

    package init(owning number: Int32) { self.number = number }

    /// Transfers ownership of the descriptor to the caller, who closes it.
    func keepOpen() -> Int32 {
        isKept.store(true, ordering: .relaxed)
        return number
    }

    /// Opens the file of a descriptor again, read-only, to send it to another process: a body that was just stored is still open for
    /// writing. Returns nil if the process has too many open files.
    package convenience init?(reading number: Int32) {
        let isReadOnly = fcntl(number, F_GETFL) & O_ACCMODE == O_RDONLY
        let copy =
            isReadOnly
            ? fcntl(number, F_DUPFD_CLOEXEC, 0) : open("/proc/self/fd/\(number)", O_RDONLY | O_CLOEXEC)
        guard copy >= 0 else { return nil }
        self.init(owning: copy)
    }

    deinit { if !isKept.load(ordering: .relaxed) { close(number) } }
}
