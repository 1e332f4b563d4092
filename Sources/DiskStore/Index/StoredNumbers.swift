// Numbers that modules above keep with the store, by their names.
extension DiskStore {
    /// The number that was stored under a name; nil: none.
    package func number(named name: String) throws(StoreError) -> Int64? {
        try withIndex { (index) throws(StoreError) in try index.catalogue().number(named: name) }
    }

    /// Stores a number under a name, or deletes it.
    package func setNumber(_ number: Int64?, named name: String) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in try index.catalogue().save(number, named: name) }
        }
    }
}
