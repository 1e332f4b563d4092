import ConcurrencyPrimitives

/// The bytes of the lock file. They need not exist: a range can be locked beyond a file's end.
enum LockByte {
    /// Held while an index is created or replaced.
    static let index: Int64 = 0

    /// Two keys may share a byte; one then waits for the other, which is harmless.
    static func of(_ key: EntryKey) -> Int64 {
        keyHash(key) & (Int64(1) << 62 - 1) + 1024
    }

    /// The upper bound of run numbers.
    static let runs = Int64(1) << 40

    /// Held while a run lives; beyond the bytes of all keys.
    static func of(run: Int64) -> Int64 { Int64(1) << 62 + 2048 + run }
}

/// The right to download one key, among all processes and all callers in this one; released with the value.
///
/// It avoids work and is not required for correctness: on a file system without locks, both download and the last commit remains.
package final class KeyLock: Sendable {
    package let key: EntryKey
    private let byte: Int64
    private let locks: KeyLocks
    /// `nil` once it was released.
    private let file: Locked<File?>

    init(key: EntryKey, byte: Int64, file: File, in locks: KeyLocks) {
        self.key = key
        self.byte = byte
        self.locks = locks
        self.file = Locked(file)
    }

    deinit { release() }

    /// Releases the key now; otherwise it is released with the value.
    package func release() {
        let file = file.withLock { file in
            defer { file = nil }
            return file
        }
        if let file { locks.unlock(byte, of: file) }
    }
}
