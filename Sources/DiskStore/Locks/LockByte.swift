/// The bytes of the lock file. They need not exist: a range can be locked beyond a file's end.
enum LockByte {
    /// Held while an index is migrated or replaced.
    static let index: Int64 = 0

    /// Never locked by a store. If it is locked, another program has locked the whole file, and locks give no information.
    static let unused: Int64 = 1

    /// Locked for a moment by those who test the record locks of a file system.
    static let test: Int64 = 2

    /// Two keys may share a byte. One then waits for the other, which is harmless.
    static func of(_ key: EntryKey) -> Int64 {
        keyHash(key) & (Int64(1) << 62 - 1) + 1024
    }

    /// The upper bound of run numbers.
    static let runs = Int64(1) << 40

    /// Held while a run lives; beyond the bytes of all keys.
    static func of(run: Int64) -> Int64 { Int64(1) << 62 + 2048 + run }

    /// The upper bound of a host's places.
    static let places = 1024

    /// Held while a transfer with a host runs, if processes share its limit; beyond the bytes of all runs. Two hosts may share them.
    static func of(place: Int, with host: String) -> Int64 {
        Int64(1) << 62 + Int64(1) << 50 + keyHash(EntryKey(host)) & (Int64(1) << 48 - 1) * Int64(places) + Int64(place)
    }
}
