import Glibc

/// What a verification found of one entry.
public enum EntryIntegrity: Sendable, Equatable {
    case intact
    /// The body is not there.
    case missing
    /// The body has this length instead of the entry's.
    case wrongLength(Int64)
    /// The body's bytes are not those that were stored.
    case corrupt
    /// The body cannot be read.
    case unreadable(String)

    public var isIntact: Bool { self == .intact }
}

/// How many entries were verified, and how many of them failed.
public struct VerifyResult: Sendable, Equatable {
    public var checked = 0
    public var bytes: Int64 = 0
    public var failed = 0
}

extension DiskStore {
    /// Reads every body through and compares it with its checksum.
    ///
    /// - Parameters:
    ///   - repair: remove the entries that fail, which makes them misses.
    ///   - report: called with each entry; return false to stop.
    public func verify(
        repair: Bool = false, _ report: (StoredEntry, EntryIntegrity) throws -> Bool = { _, _ in true }
    ) throws -> VerifyResult {
        var result = VerifyResult()
        try list(by: .created) { entry in
            guard let integrity = try integrity(of: entry) else { return true }
            result.checked += 1
            result.bytes += entry.size
            if !integrity.isIntact {
                result.failed += 1
                if repair { try remove(entry) }
            }
            return try report(entry, integrity)
        }
        return result
    }

    /// nil if the entry went away meanwhile.
    private func integrity(of entry: StoredEntry) throws(StoreError) -> EntryIntegrity? {
        let integrity = try examine(entry)
        if integrity.isIntact { return integrity }
        // Evicted or replaced while we looked: nothing is wrong with that.
        return try withIndex { (index) throws(StoreError) in try index.exists(entry.id) } ? integrity : nil
    }

    private func examine(_ entry: StoredEntry) throws(StoreError) -> EntryIntegrity {
        let file: File
        do throws(StoreError) {
            file = try File(paths.body(entry.id), O_RDONLY)
        } catch {
            return error.errno == ENOENT ? .missing : .unreadable("\(error)")
        }
        guard file.tryLock(exclusive: false), let status = file.status else { return .missing }
        guard status.isRegular, status.size == entry.size else { return .wrongLength(status.size) }
        guard let checksum = try checksum(of: file, size: entry.size) else { return .unreadable("it cannot be read") }
        return checksum == entry.checksum ? .intact : .corrupt
    }
}
