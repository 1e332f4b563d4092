import Glibc

extension DiskStore {
    /// Takes the lock for the download of a key; `nil` while another caller, in any process, holds it.
    package func tryLock(_ key: EntryKey) throws(StoreError) -> ByteLock? {
        let byte = LockByte.of(key)
        do throws(StoreError) {
            return try keyLocks.lock(byte, in: paths.locks)
        } catch {
            guard error.errno == ENOENT else { throw error }
            try recreateDirectory()
            return try keyLocks.lock(byte, in: paths.locks)
        }
    }

    /// Takes one of the places for transfers with a host that all processes on the directory share.
    ///
    /// - Parameters:
    ///   - host: Scheme, host and port.
    ///   - count: The number of places; at most 1024.
    /// - Returns: The place, held until the lock is released; `nil` if no place is free.
    package func place(with host: String, of count: Int) throws(StoreError) -> ByteLock? {
        for place in 0..<min(max(1, count), LockByte.places) {
            if let lock = try keyLocks.lock(LockByte.of(place: place, with: host), in: paths.locks) { return lock }
        }
        return nil
    }

    /// Waits for the key's lock. The wait polls, at intervals from 5 ms to 100 ms.
    ///
    /// - Parameter waits: Called before each interval with a number that grows with the holder's progress on disk;
    ///   returning false ends the wait.
    /// - Returns: `nil` if the wait was ended.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; ``StoreError``.
    package func lock(_ key: EntryKey, waits: (_ progress: Int64) -> Bool = { _ in true }) async throws -> ByteLock? {
        var wait = Duration.milliseconds(5)
        while true {
            if let lock = try tryLock(key) { return lock }
            guard waits(progress(of: key)) else { return nil }
            try await Task.sleep(for: wait)
            wait = min(wait * 3 / 2, .milliseconds(100))
        }
    }

    /// The space that the key's partials occupy on disk, which grows during a download; 0 while the index cannot be read.
    private func progress(of key: EntryKey) -> Int64 {
        let rows = try? withIndex(waitingFor: .zero) { (index) throws(StoreError) in
            try index.catalogue().partials.partials(of: key)
        }
        return (rows ?? []).reduce(0) { $0 + (FileStatus(at: paths.data($1.id))?.allocated ?? 0) }
    }
}
