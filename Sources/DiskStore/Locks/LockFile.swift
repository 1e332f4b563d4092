import CLinux
import Glibc

/// The open lock file of a directory.
///
/// Locks prevent duplicate work, and correctness does not depend on them. No call waits, and an unusable lock file blocks nothing.
struct LockFile {
    /// The result of an attempt to lock a byte.
    enum Attempt {
        case locked
        /// Another store has locked the byte.
        case busy
        /// The file system has no locks, or another program has locked the whole file.
        case unavailable
    }

    let file: File

    /// Opens the lock file, which is created if it does not exist. Anything else that is in its place is removed.
    init(_ path: String) throws(StoreError) {
        do throws(StoreError) {
            file = try Self.open(path)
        } catch  where error.isOfOtherKind || error.errno == EACCES {
            guard removeName(path) else { throw error }
            file = try Self.open(path)
        }
    }

    private static func open(_ path: String) throws(StoreError) -> File {
        try File(path, O_RDWR | O_CREAT, mode: 0o600)
    }

    /// Tries to lock a byte.
    func lock(_ byte: Int64) -> Attempt {
        switch clinux_lock_byte(file.descriptor, byte) {
        case 0: .locked
        case 1: clinux_is_byte_locked(file.descriptor, LockByte.unused) == 1 ? .unavailable : .busy
        default: .unavailable
        }
    }

    /// Tests the locks that SQLite uses.
    ///
    /// - Throws: ``StoreError/Code/notWritable`` if the locks fail, or have no effect.
    func requireRecordLocks(of fileSystem: FileSystemKind, for index: String) throws(StoreError) {
        let result = clinux_test_record_locks(file.descriptor, file.path, LockByte.test)
        if result == 0 { return }
        let number = result < 0 ? errno : nil
        throw StoreError(
            .notWritable,
            "file locks \(result < 0 ? "fail" : "exclude nobody") on \(fileSystem.name), and the index cannot be changed without them; use a cache "
                + "directory on a local disk", path: index, errno: number)
    }

    /// True if another open file has the byte locked.
    func isLocked(_ byte: Int64) -> Bool { clinux_is_byte_locked(file.descriptor, byte) == 1 }
}
