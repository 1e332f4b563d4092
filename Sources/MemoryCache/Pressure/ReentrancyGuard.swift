import Glibc

/// A mutex that admits one thread, and refuses re-entrance by the same thread.
///
/// `@unchecked Sendable`: the mutex is safe for concurrent use and has a stable address.
final class ReentrancyGuard: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Returns false if another thread is inside and this one does not wait, or if this one is inside already.
    func enter(waiting: Bool) -> Bool { (waiting ? pthread_mutex_lock(mutex) : pthread_mutex_trylock(mutex)) == 0 }

    func leave() { pthread_mutex_unlock(mutex) }
}
