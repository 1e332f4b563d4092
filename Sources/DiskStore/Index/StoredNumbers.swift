// Numbers that higher modules keep in the store under names.
extension DiskStore {
    /// Returns the number that was stored under a name; `nil` if there is none.
    package func number(named name: String) throws(StoreError) -> Int64? {
        try withIndex { (index) throws(StoreError) in try index.catalogue().number(named: name) }
    }

    /// Stores a number under a name, or deletes it if it is `nil`.
    package func setNumber(_ number: Int64?, named name: String) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in try index.catalogue().save(number, named: name) }
        }
    }
}
