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
    /// In one allocation with the mutex: accesses to a class's variable would also be checked for exclusivity at run time.
    @usableFromInline let value: UnsafeMutablePointer<Value>

    @inlinable
    public init(_ value: sending Value) {
        let alignment = max(MemoryLayout<Value>.alignment, MemoryLayout<pthread_mutex_t>.alignment)
        let offset = (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<Value>.size, alignment: alignment)
        self.value = (memory + offset).initializeMemory(as: Value.self, to: value)
        mutex = memory.initializeMemory(as: pthread_mutex_t.self, to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    @inlinable
    deinit {
        pthread_mutex_destroy(mutex)
        value.deinitialize(count: 1)
        UnsafeMutableRawPointer(mutex).deallocate()
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
