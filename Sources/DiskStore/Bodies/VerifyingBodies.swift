import Glibc

/// The result of verifying one entry.
public enum EntryIntegrity: Sendable, Equatable {
    case intact
    /// The body does not exist.
    case missing
    /// The body has this length instead of the entry's.
    case wrongLength(Int64)
    /// The body's bytes are not the stored ones.
    case corrupt
    /// The body cannot be read.
    case unreadable(String)

    public var isIntact: Bool { self == .intact }
}

/// The number of verified entries, and of those that failed.
public struct VerifyResult: Sendable, Equatable {
    public var checked = 0
    public var bytes: Int64 = 0
    public var failed = 0
}

extension DiskStore {
    /// Reads every body and compares it with its checksum.
    ///
    /// - Parameters:
    ///   - repair: True to remove the entries that fail, which turns them into misses. Their intact blocks are kept as partials, if possible.
    ///   - report: Called with each entry, and with the number of intact bytes that were kept; return false to stop.
    package func verify(
        repair: Bool = false, _ report: (StoredEntry, EntryIntegrity, Int64?) throws -> Bool = { _, _, _ in true }
    ) throws -> VerifyResult {
        var result = VerifyResult()
        try list(by: .created) { entry in
            guard let integrity = try integrity(of: entry) else { return true }
            result.checked += 1
            result.bytes += entry.size
            var kept: Int64?
            if !integrity.isIntact {
                result.failed += 1
                if repair {
                    kept = (try? salvage(entry)) ?? nil
                    if kept == nil { try remove(entry) }
                }
            }
            return try report(entry, integrity, kept)
        }
        return result
    }

    /// Compares an entry's body with its checksum. `nil` if the entry was removed meanwhile.
    private func integrity(of entry: StoredEntry) throws(StoreError) -> EntryIntegrity? {
        let integrity = try examine(entry)
        if integrity.isIntact { return integrity }
        // Evicted or replaced meanwhile, which is not damage.
        return try withIndex { (index) throws(StoreError) in try index.exists(entry.id) } ? integrity : nil
    }

    private func examine(_ entry: StoredEntry) throws(StoreError) -> EntryIntegrity {
        let file: File
        do throws(StoreError) {
            file = try File(paths.body(entry.id), O_RDONLY)
        } catch {
            if error.isOfResources { throw error }
            return error.errno == ENOENT ? .missing : .unreadable("\(error)")
        }
        guard fileSystem.lock(file, exclusive: false), let status = file.status else { return .missing }
        guard status.isRegular, status.size == entry.size else { return .wrongLength(status.size) }
        guard let checksum = try checksum(of: file, size: entry.size) else { return .unreadable("it cannot be read") }
        return checksum == entry.checksum ? .intact : .corrupt
    }
}
