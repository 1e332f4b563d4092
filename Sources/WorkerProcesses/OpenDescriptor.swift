import Glibc
import Synchronization

/// A descriptor, closed with the last reference.
package final class OpenDescriptor: Sendable {
    package let number: Int32
    private let isKept = Atomic(false)

    package init(owning number: Int32) { self.number = number }

    /// Gives the descriptor to the caller, who closes it.
    func keepOpen() -> Int32 {
        isKept.store(true, ordering: .relaxed)
        return number
    }

    /// The file of a descriptor for another process, which can read it and nothing else: a body that was just stored is still open for
    /// writing. Nil if the process has too many open.
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
