import ConcurrencyPrimitives

/// A locked byte of the lock file: of a key that is being downloaded, of a run, or of a place with a host. It excludes other callers in all
/// processes, and is released with the value, or when its process ends.
///
/// Locks prevent duplicate work and protect no data: on a file system without them, two processes download the same body, and the last commit
/// remains.
package final class ByteLock: Sendable {
    private let byte: Int64
    private let locks: KeyLocks
    private let state: Locked<State>

    private enum State {
        /// The file is `nil` if there is no usable lock file. The lock then excludes only other callers in this process.
        case locked(File?)
        case released
    }

    init(byte: Int64, file: File?, in locks: KeyLocks) {
        self.byte = byte
        self.locks = locks
        state = Locked(.locked(file))
    }

    deinit { release() }

    /// Releases the byte now.
    package func release() {
        let state = state.withLock { state in
            defer { state = .released }
            return state
        }
        if case .locked(let file) = state { locks.unlock(byte, of: file) }
    }
}
