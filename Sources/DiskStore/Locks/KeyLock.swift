import CLinux
import Glibc

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
/// An open file description lock (`F_OFD_SETLK`) on one byte: each lock has a description of its own, so two callers in
/// one process exclude each other like two processes, and the kernel releases it when the holder dies. It avoids work
/// and is not required for correctness: on a file system without locks, both download and the last commit remains.
package final class KeyLock: Sendable {
    package let key: EntryKey
    private let file: File

    init(key: EntryKey, file: File) {
        self.key = key
        self.file = file
    }

    /// Releases the key now; otherwise it is released with the value.
    package func release() { clinux_unlock_byte(file.descriptor, LockByte.of(key)) }
}

extension DiskStore {
    /// The key's lock, or nil while another holds it.
    package func tryLock(_ key: EntryKey) throws(StoreError) -> KeyLock? {
        let file: File
        do throws(StoreError) {
            file = try File(paths.locks, O_RDWR | O_CREAT, mode: 0o600)
        } catch  where error.errno == ENOENT {
            try withIndex { (_) throws(StoreError) in }  // Recreates a directory that was deleted meanwhile.
            file = try File(paths.locks, O_RDWR | O_CREAT, mode: 0o600)
        }
        // A file system without locks must not prevent downloads.
        return clinux_lock_byte(file.descriptor, LockByte.of(key)) == 1 ? nil : KeyLock(key: key, file: file)
    }

    /// Waits for the key's lock. The wait polls, at intervals from 5 ms to 100 ms.
    ///
    /// - Parameter waits: Called before each interval with a number that grows with the holder's progress on disk;
    ///   returning false ends the wait.
    /// - Returns: `nil` if the wait was ended.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; ``StoreError``.
    package func lock(_ key: EntryKey, waits: (_ progress: Int64) -> Bool = { _ in true }) async throws -> KeyLock? {
        var wait = Duration.milliseconds(5)
        while true {
            if let lock = try tryLock(key) { return lock }
            guard waits(try progress(of: key)) else { return nil }
            try await Task.sleep(for: wait)
            wait = min(wait * 3 / 2, .milliseconds(100))
        }
    }

    /// The space that the key's partials occupy on disk, which grows during a download.
    private func progress(of key: EntryKey) throws(StoreError) -> Int64 {
        let rows = try withIndex { (index) throws(StoreError) in try index.catalogue().partials(of: key) }
        return rows.reduce(0) { $0 + (FileStatus(at: paths.data($1.id))?.allocated ?? 0) }
    }
}
