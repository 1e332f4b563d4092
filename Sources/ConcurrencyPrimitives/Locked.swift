public import Glibc

/// A value that is reached only under a lock.
///
/// A pthread mutex rather than `Synchronization.Mutex`: ThreadSanitizer does not understand the latter on Linux and
/// reports races that do not exist.
///
/// `@unchecked Sendable`: `value` is touched only inside `withLock`, which holds the mutex; the mutex has an address
/// of its own for the whole life of the object.
public final class Locked<Value>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline var value: Value

    @inlinable
    public init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    @inlinable
    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` while no one else reads or writes the value. Not re-entrant.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
