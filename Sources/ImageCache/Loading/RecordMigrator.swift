import DiskStore
import HTTPCaching

/// Migrates the records of requests and responses that earlier versions stored.
struct RecordMigrator: EntryMigrating {
    /// Version 1 stored the request fields that `Vary` names as they were sent. They are replaced by their digests. Entries for an `Authorization`
    /// field are removed: their namespace is not a cryptographic digest and cannot be converted to one.
    func migrated(_ entry: NewEntry, from version: Int64) -> NewEntry? {
        guard version == 1 else { return entry }
        if isOfFingerprint(entry.key) { return nil }
        // An entry without a variant contains no request fields.
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

    /// The record of a partial cannot be rewritten in place. A partial whose record contains values of request fields is removed.
    func keepsPartial(of key: EntryKey, header: [UInt8], from version: Int64) -> Bool {
        guard version == 1 else { return true }
        guard !isOfFingerprint(key), let record = ResponseRecord(decoding: header) else { return false }
        return record.response.selectingFields.values.allSatisfy { $0.digest == nil }
    }

    private func isOfFingerprint(_ key: EntryKey) -> Bool {
        if case .credentials? = StoreKey(key.value)?.namespace { true } else { false }
    }
}
