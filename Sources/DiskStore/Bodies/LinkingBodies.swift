import Glibc

/// The way in which a stored file gets a place outside of the store.
public enum LinkMode: String, Sendable, Hashable, CaseIterable {
    /// A file that shares the store's blocks until one of the two is changed (a reflink), where the file system has that; else a
    /// copy, made by the kernel.
    case clone
    /// A further name of the store's own file: no byte is copied, and no space is used. Like all files of the store, it is read-only. A
    /// program that nevertheless changes it changes the store's file; the next use detects that, drops the file and fetches it again. A
    /// clone is made instead on another file system, or if the store is not writable.
    case hardlink
    /// A symbolic link to the store's file, which eviction may take.
    case symlink
    /// A copy, byte by byte: nothing is shared with the store's file.
    case copy
}

// Further names of bodies, outside of the store.

extension DiskStore {
    /// Gives a body's file a further name.
    ///
    /// Its row says so first: from then on the body counts as checked only while its file's length and times stay the same
    /// (``CheckMark``), also after a kill between row and link.
    ///
    /// - Parameter overwrite: True to replace an existing file; otherwise throws ``StoreError/Code/exists``.
    /// - Returns: False where that is not possible: on another file system, on one without links, or if the row cannot be written.
    func link(_ body: StoredBody, at target: String, overwrite: Bool) throws(StoreError) -> Bool {
        guard !configuration.isReadOnly else { return false }
        let id = body.entry.id
        do throws(StoreError) {
            try withIndex { (index) throws(StoreError) in try index.save(CheckMark.linked, of: id) }
        } catch  where error.code == .full || error.code == .notWritable {
            return false
        }
        do throws(StoreError) {
            try ExportTarget.link(body.path, at: target, overwrite: overwrite)
        } catch {
            switch error.errno {
            case EXDEV, EPERM, EMLINK, EOPNOTSUPP, ENOSYS: return false
            default: throw error
            }
        }
        try noteState(of: body)
        return true
    }

    /// Records the file's state, so that the next reader of a linked body need not verify it again, unless it may have changed since the
    /// check.
    private func noteState(of body: StoredBody) throws(StoreError) {
        guard let status = body.file.status, status.modified == body.modified,
            let mark = CheckMark.checked(
                after: CheckMark.linked, status, boot: configuration.boot(), now: .now)
        else { return }
        try withIndex { (index) throws(StoreError) in
            try index.replace(CheckMark.linked, by: mark, of: body.entry.id)
        }
    }
}
