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
            guard let entry = try withIndex({ (index) throws(StoreError) in try index.entry(id) }) else { continue }
            if try !body(entry) { return }
        }
    }

    /// Eight bytes an entry, so that no read transaction stands open while the caller prints.
    private func identifiers(by order: EntryOrder, descending: Bool) throws(StoreError) -> [Int64] {
        let direction = descending ? "DESC" : "ASC"
        let sql =
            switch order {
            case .age: "SELECT entry FROM access ORDER BY sequence \(direction)"
            case .size: "SELECT id FROM entries ORDER BY allocated \(direction), id"
            case .url: "SELECT id FROM entries ORDER BY url \(direction), id"
            case .created: "SELECT id FROM entries ORDER BY created \(direction), id \(direction)"
            }
        return try withIndex { (index) throws(StoreError) in
            try index.flush()
            let select = try index.database().prepare(sql)
            defer { select.finalize() }
            var ids: [Int64] = []
            while try select.step() { ids.append(select.integer(0)) }
            return ids
        }
    }
}
