import ConcurrencyPrimitives

/// A locked byte of the lock file; released with the value, or when its process ends.
package final class ByteLock: Sendable {
    private let byte: Int64
    private let locks: KeyLocks
    /// `nil` once it was released.
    private let file: Locked<File?>

    init(byte: Int64, file: File, in locks: KeyLocks) {
        self.byte = byte
        self.locks = locks
        self.file = Locked(file)
    }

    deinit { release() }

    func release() {
        let file = file.withLock { file in
            defer { file = nil }
            return file
        }
        if let file { locks.unlock(byte, of: file) }
    }
}
