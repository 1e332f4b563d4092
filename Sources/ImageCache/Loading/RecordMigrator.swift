import DiskStore
import HTTPCaching

/// Rewrites what earlier versions stored of requests and responses.
struct RecordMigrator: EntryMigrating {
    /// Version 1 held the request fields that `Vary` names as they were sent: they become digests. What was stored for an
    /// `Authorization` goes, because its namespace was no cryptographic digest of it and cannot be made into one.
    func migrated(_ entry: NewEntry, from version: Int64) -> NewEntry? {
        guard version == 1 else { return entry }
        if isOfFingerprint(entry.key) { return nil }
        // Without a variant nothing of the request's fields was kept.
        if entry.variant.isEmpty { return entry }
        var entry = entry
        if entry.key.isOfDerivedImages {
            guard let record = DerivedImageRecord(decoding: entry.metadata) else { return nil }
            entry.metadata = record.encoded
        } else {
            guard let record = ResponseRecord(decoding: entry.metadata) else { return nil }
            entry.metadata = record.encoded
            entry.variant = CacheRules().variantKey(of: record.response) ?? "*"
        }
        return entry
    }

    /// A record cannot be rewritten in its place: one that holds any value of the request's fields goes.
    func keepsPartial(of key: EntryKey, header: [UInt8], from version: Int64) -> Bool {
        guard version == 1 else { return true }
        guard !isOfFingerprint(key), let record = ResponseRecord(decoding: header) else { return false }
        return record.response.selectingFields.values.allSatisfy { $0.digest == nil }
    }

    private func isOfFingerprint(_ key: EntryKey) -> Bool {
        if case .credentials? = StoreKey(key.value)?.namespace { true } else { false }
    }
}
