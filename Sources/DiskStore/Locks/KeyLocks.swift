import CLinux
import ConcurrencyPrimitives
import Glibc

/// The keys and places that this process has locked for one store, and the one open file of their locks.
///
/// An open file description lock (`F_OFD_SETLK`) belongs to the open file: it excludes the other open files on the directory, of this
/// process or another, and not other callers of the same. Those are excluded by the list of bytes that are locked.
final class KeyLocks: Sendable {
    private struct State {
        var file: LockFile?
        var held: Set<Int64> = []
    }

    private let state = Locked(State())

    /// Locks a byte of the file at `path`, which is created if it does not exist.
    ///
    /// - Returns: The lock, or `nil` while the byte is locked by others.
    func lock(_ byte: Int64, in path: String) throws(StoreError) -> ByteLock? {
        try state.withLock { (state) throws(StoreError) -> ByteLock? in
            if state.held.contains(byte) { return nil }
            // If the directory was deleted, a lock on the deleted file no longer excludes other processes.
            if state.file?.file.status?.links ?? 0 == 0 { state.file = try Self.open(path) }
            // Downloads also run without locks.
            if let file = state.file, case .busy = file.lock(byte) { return nil }
            state.held.insert(byte)
            return ByteLock(byte: byte, file: state.file?.file, in: self)
        }
    }

    /// The lock file; `nil` if something is in its place that cannot be removed.
    private static func open(_ path: String) throws(StoreError) -> LockFile? {
        do throws(StoreError) { return try LockFile(path) } catch  where error.isOfOtherKind { return nil }
    }

    func unlock(_ byte: Int64, of file: File?) {
        state.withLock { state in
            state.held.remove(byte)
            guard let file else { return }
            if clinux_unlock_byte(file.descriptor, byte) == 0 || clinux_unlock_byte(file.descriptor, byte) == 0 {
                return
            }
            // The byte cannot be unlocked, and others would wait for it until this process ends. Closing the file frees it, after its last lock.
            if state.file?.file === file { state.file = nil }
        }
    }
}
