import Glibc
import Synchronization

/// A mutex that admits one thread, and refuses re-entrance by the same thread.
///
/// `@unchecked Sendable`: the mutex is safe for concurrent use and has a stable address.
final class ReentrancyGuard: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// The thread inside; 0: none.
    private let owner = Atomic<UInt>(0)

    init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Returns false if another thread is inside and this one does not wait, or if this one is inside already.
    func enter(waiting: Bool) -> Bool {
        let me = UInt(pthread_self())
        if owner.load(ordering: .relaxed) == me { return false }
        guard (waiting ? pthread_mutex_lock(mutex) : pthread_mutex_trylock(mutex)) == 0 else { return false }
        owner.store(me, ordering: .relaxed)
        return true
    }

    func leave() {
        owner.store(0, ordering: .relaxed)
        pthread_mutex_unlock(mutex)
    }
}
