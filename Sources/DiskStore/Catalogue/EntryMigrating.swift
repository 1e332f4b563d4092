/// Converts stored data of an earlier version: metadata and headers are opaque to the store.
package protocol EntryMigrating: Sendable {
    /// Returns the converted entry; `nil` removes it.
    ///
    /// Called once for each entry, inside the transaction that migrates the index.
    func migrated(_ entry: NewEntry, from version: Int64) -> NewEntry?

    /// Returns true if a partial is kept; otherwise its record is deleted.
    func keepsPartial(of key: EntryKey, header: [UInt8], from version: Int64) -> Bool
}
