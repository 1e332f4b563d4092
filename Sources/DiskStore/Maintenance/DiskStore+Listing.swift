/// By what a listing is ordered.
public enum EntryOrder: Sendable, CaseIterable {
    /// By last use, the longest unused first: the order in which entries are evicted.
    case age
    /// By what the body occupies, the smallest first.
    case size
    case url
    /// By when it was stored, the oldest first.
    case created
}

extension DiskStore {
    /// Calls `body` with each entry, in order, until it returns false.
    ///
    /// The order is that of the moment of the call; rows are read in small steps, so other callers and processes go on
    /// meanwhile, and an entry that goes away before its turn is left out.
    public func list(
        by order: EntryOrder = .age, descending: Bool = false, _ body: (StoredEntry) throws -> Bool
    ) throws {
        for id in try identifiers(by: order, descending: descending) {
            guard let entry = try withIndex({ (index) throws(StoreError) in try index.catalogue().entry(id) }) else {
                continue
            }
            if try !body(entry) { return }
        }
    }

    /// Eight bytes an entry, so that no read transaction stands open while the caller prints.
    private func identifiers(by order: EntryOrder, descending: Bool) throws(StoreError) -> [Int64] {
        try withIndex { (index) throws(StoreError) in
            try index.flush()
            return try index.catalogue().identifiers(by: order, descending: descending)
        }
    }
}
