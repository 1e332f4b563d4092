import Glibc

/// The files of bodies without an entry: deleted unless a reader or a live run holds them.
extension Index {
    /// The number of files that are open, and locked, at the same time.
    static let mostDeleting = 32

    /// Deletes the files of bodies without an entry, outside of a transaction.
    ///
    /// - Returns: The numbers of the bodies whose files no longer exist. Bodies that a reader or a live run holds are not included.
    func deleteUnlessInUse(_ ids: [Int64]) throws(StoreError) -> [Int64] {
        var gone: [Int64] = []
        var locked: [(id: Int64, file: File)] = []
        for id in ids {
            do throws(StoreError) {
                let file = try File(paths.body(id), O_RDONLY)
                if fileSystem.lock(file, exclusive: true) { locked.append((id, file)) }
            } catch {
                if try deleteUnlessInUse(id) { gone.append(id) }
            }
        }
        if locked.isEmpty { return gone }
        // The holds are read after all locks were taken, as for a single body.
        let free = try reading { () throws(StoreError) in
            if try catalogue().holds.run(after: -1) == nil { return locked }
            var free: [(id: Int64, file: File)] = []
            for body in locked where try !isHeld(body.id) { free.append(body) }
            return free
        }
        // The locks must be held until the files are deleted.
        withExtendedLifetime(locked) {
            for body in free where unlink(body.file.path) == 0 || errno == ENOENT { gone.append(body.id) }
        }
        return gone
    }

    /// Deletes the file of a body without an entry. Returns false if a reader or a live run holds it.
    func deleteUnlessInUse(_ id: Int64) throws(StoreError) -> Bool {
        var failure: StoreError?
        let isDeleted = deleteUnlessRead(paths.body(id)) {
            // Checked under the exclusive lock: a holder has the body open under a shared one while the row is written.
            do throws(StoreError) { return try isHeld(id) } catch {
                failure = error
                return true
            }
        }
        if let failure { throw failure }
        return isDeleted
    }

    /// Unlinks a body while holding its exclusive lock. Returns false if a reader holds it, or if it cannot be deleted.
    ///
    /// A reader that opens it now finds the lock taken or the link gone, and treats both as a miss.
    ///
    /// - Parameter isHeld: Called under the lock; a held body remains.
    func deleteUnlessRead(_ path: String, isHeld: () -> Bool = { false }) -> Bool {
        do throws(StoreError) {
            let file = try File(path, O_RDONLY)
            // The lock must be held until the file is deleted.
            return withExtendedLifetime(file) {
                fileSystem.lock(file, exclusive: true) && !isHeld() && unlink(path) == 0
            }
        } catch {
            if error.errno == ENOENT { return true }
            // The file belongs to another owner, or is not a file. Then it has no reader among the store's processes either.
            if error.isOfResources || isHeld() { return false }
            // A folder with content is not a body, and stays. Its number is not issued again.
            return removeName(path) || FileStatus(at: path)?.isFolder == true
        }
    }
}
