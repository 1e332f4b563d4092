import Glibc

/// A POSIX semaphore. Waiting blocks the thread.
///
/// `@unchecked Sendable`: `sem_t` is safe for concurrent use and has a stable address.
package final class CountingSemaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    /// - Parameter count: A semaphore has at most 2³¹ − 1 units.
    package init(_ count: Int) { sem_init(semaphore, 0, UInt32(min(max(count, 0), Int(Int32.max)))) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    package func signal() { sem_post(semaphore) }

    /// Takes a unit if there is one. Does not wait.
    package func tryWait() -> Bool { sem_trywait(semaphore) == 0 }

    package func wait() {
        while sem_wait(semaphore) != 0 && errno == EINTR {}
    }
}
