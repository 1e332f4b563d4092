extension DiskStore {
    /// Calls `body` with each entry, in order, until it returns false.
    ///
    /// The order is that at the time of the call. Rows are read in small steps, so that other callers and processes proceed meanwhile. An
    /// entry that is removed before its turn is skipped.
    package func list(
        by order: EntryOrder = .age, descending: Bool = false, _ body: (StoredEntry) throws -> Bool
    ) throws {
        for id in try identifiers(by: order, descending: descending) {
            guard let entry = try withIndex({ (index) throws(StoreError) in try index.catalogue().entry(id) }) else {
                continue
            }
            if try !body(entry) { return }
        }
    }

    /// Eight bytes an entry, so that no read transaction is open while the caller prints.
    private func identifiers(by order: EntryOrder, descending: Bool) throws(StoreError) -> [Int64] {
        try withIndex { (index) throws(StoreError) in
            try index.flush()
            return try index.catalogue().identifiers(by: order, descending: descending)
        }
    }
}
