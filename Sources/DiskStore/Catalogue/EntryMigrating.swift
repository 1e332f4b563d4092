/// Rewrites what a caller stored when the index had an earlier version: metadata and headers are bytes to the store.
public protocol EntryMigrating: Sendable {
    /// The entry as it is stored from now on; `nil` removes it.
    ///
    /// Called once for each entry, inside the transaction that migrates the index.
    func migrated(_ entry: NewEntry, from version: Int64) -> NewEntry?

    /// Returns true when a partial is kept; its record is deleted otherwise.
    func keepsPartial(of key: EntryKey, header: [UInt8], from version: Int64) -> Bool
}
