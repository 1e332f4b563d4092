import Glibc
import Synchronization

/// Lets one thread in, and the same thread only once.
///
/// `@unchecked Sendable`: the mutex is made for several threads and has an address of its own.
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

    /// False: another thread is inside and this one does not wait, or this one is inside already.
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
