public import Glibc

/// A value protected by a lock.
///
/// A pthread mutex instead of `Synchronization.Mutex`: ThreadSanitizer does not support the latter on Linux and reports
/// false races.
///
/// `@unchecked Sendable`: `value` is accessed only inside `withLock`, which holds the mutex; the mutex has a stable
/// address for the lifetime of the object.
public final class Locked<Value>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// In memory of its own: accesses of a class's variable would also be checked for exclusivity at run time.
    @usableFromInline let value: UnsafeMutablePointer<Value>

    @inlinable
    public init(_ value: sending Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    @inlinable
    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// Runs `body` with exclusive access to the value. Not re-entrant.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
