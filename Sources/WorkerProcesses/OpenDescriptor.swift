import Glibc

/// A descriptor, closed with the last reference.
package final class OpenDescriptor: Sendable {
    package let number: Int32

    package init(owning number: Int32) { self.number = number }

    /// Nil if the process has too many open.
    package convenience init?(duplicating number: Int32) {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        self.init(owning: copy)
    }

    deinit { close(number) }
}
