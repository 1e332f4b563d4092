extension DiskStore {
    /// Removes all entries for other versions of the application than this one, in steps, so that other callers proceed in between.
    ///
    /// - Returns: The number of removed entries.
    @discardableResult
    package func removeVersions(except version: String) throws(StoreError) -> Int {
        try removeAll { (catalogue) throws(StoreError) in
            try catalogue.entries.entries(ofOtherVersionsThan: version, limit: 100)
        }
    }

    /// Removes all values of a format's type in other versions of it, in steps, so that other callers proceed in between.
    ///
    /// - Returns: The number of removed entries.
    @discardableResult
    package func removeFormats(except format: ValueFormat) throws(StoreError) -> Int {
        try removeAll { (catalogue) throws(StoreError) in
            try catalogue.entries.entries(ofOtherFormatsThan: format, limit: 100)
        }
    }

    /// Removes the entries that `next` returns until there are none.
    private func removeAll(_ next: (Catalogue) throws(StoreError) -> [Int64]) throws(StoreError) -> Int {
        var count = 0
        while true {
            let ids = try withIndex { (index) throws(StoreError) in try next(index.catalogue()) }
            if ids.isEmpty { return count }
            count += try removeInSteps(ids).entries
        }
    }
}
