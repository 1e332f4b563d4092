import CLinux
import Glibc

/// The abilities of a folder's file system that a store uses, found out by trying.
package struct FolderAbilities: Sendable {
    /// True if `flock` excludes other open files.
    package var hasLocks = false
    /// True if open file description locks exclude other open files.
    package var hasByteLocks = false
    /// True if record locks, which SQLite uses, exclude other processes.
    package var hasRecordLocks = false
    /// True if a file can be written without a name (`O_TMPFILE`).
    package var hasUnnamedFiles = false
    /// True if two files can share their blocks (`FICLONE`).
    package var hasReflinks = false

    /// Tries them out with two small files, which are deleted.
    package init(ofFolder path: String) throws(StoreError) {
        let name = "\(path)/.imgcache-test-\(Paths.hex(.random(in: .min ... .max)))"
        let first = try File(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        defer { unlink(name) }
        let second = try File(name, O_RDWR)
        hasLocks = first.tryLock(exclusive: true) && !second.tryLock(exclusive: true)
        hasByteLocks =
            clinux_lock_byte(first.descriptor, 1) == 0 && clinux_lock_byte(second.descriptor, 1) == 1
        hasRecordLocks = clinux_test_record_locks(first.descriptor, name, 2) == 0
        let unnamed = clinux_open_unnamed(path, 0o600)
        if unnamed >= 0 {
            hasUnnamedFiles = true
            close(unnamed)
        }
        ftruncate(first.descriptor, 4096)
        let copyName = name + "-copy"
        let copy = try File(copyName, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        defer { unlink(copyName) }
        hasReflinks = clinux_clone(first.descriptor, copy.descriptor) == 0
    }
}
