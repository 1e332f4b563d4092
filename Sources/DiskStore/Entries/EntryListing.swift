/// The order of a listing.
public enum EntryOrder: Sendable, CaseIterable {
    /// By last use, the least recently used first: the order of eviction.
    case age
    /// By the body's size on disk, the smallest first.
    case size
    case url
    /// By creation, the oldest first.
    case created
}

extension DiskStore {
    /// Calls `body` with each entry, in order, until it returns false.
    ///
    /// The order is that at the time of the call. Rows are read in small steps, so that other callers and processes proceed meanwhile. An
    /// entry that is removed before its turn is skipped.
    package func list(
        by order: EntryOrder = .age, descending: Bool = false, _ body: (StoredEntry) throws -> Bool
    ) throws {
        for id in try identifiers(by: order, descending: descending) {
            guard let entry = try withIndex({ (index) throws(StoreError) in try index.catalogue().entries.entry(id) })
            else {
                continue
            }
            if try !body(entry) { return }
        }
    }

    /// The identifiers are read at once, eight bytes an entry, so that no read transaction is open while the caller prints.
    private func identifiers(by order: EntryOrder, descending: Bool) throws(StoreError) -> [Int64] {
        try withIndex { (index) throws(StoreError) in
            try index.flush()
            return try index.catalogue().entries.identifiers(by: order, descending: descending)
        }
    }
}

/// A page of a listing, the newest entries first.
package struct EntryPage: Sendable {
    package var entries: [StoredEntry]
    /// The start of the next page (see ``DiskStore/page(after:limit:scanning:where:)``); nil if this is the last one.
    package var next: Int64?
}

extension DiskStore {
    /// Returns the newest entries whose URL matches, page by page.
    ///
    /// Uses its own connection, so that searching a million entries does not delay others.
    ///
    /// - Parameters:
    ///   - last: ``EntryPage/next`` of the previous page; `nil` to start at the newest entry.
    ///   - limit: The greatest number of entries in a page.
    ///   - most: The greatest number of rows to examine. A page may therefore have fewer entries than `limit`, even
    ///     none, without being the last.
    ///   - matches: Returns true if the entry with this URL is wanted.
    package func page(
        after last: Int64? = nil, limit: Int, scanning most: Int = 200_000,
        where matches: (String) -> Bool = { _ in true }
    ) throws(StoreError) -> EntryPage {
        let reader = try reader()
        var place = last ?? .max
        var left = most
        var page = EntryPage(entries: [], next: nil)
        while left > 0 {
            let step = try reader.urls(before: place, limit: min(left, Self.scanStep))
            left -= step.count
            for row in step where matches(row.url) {
                // The entry was removed since the page was read.
                guard let entry = try reader.entry(row.id) else { continue }
                page.entries.append(entry)
                if page.entries.count == limit {
                    page.next = row.id
                    return page
                }
            }
            guard let end = step.last, step.count == Self.scanStep || left == 0 else { return page }
            place = end.id
        }
        page.next = place
        return page
    }

    /// Removes the entries and partials that match, and invalidates `scope`, which must include all of them.
    ///
    /// Works in steps, between which other callers proceed. Content requested meanwhile may remain.
    ///
    /// - Parameters:
    ///   - matches: Returns true for the URL of an entry to remove.
    ///   - matchesPartial: Returns true for the header of a partial to remove. Default: no partial is removed.
    ///   - others: Further entries to remove. They are read only if their URL may match.
    @discardableResult
    package func remove(
        invalidating scope: InvalidationScope, where matches: (String) -> Bool,
        partials matchesPartial: (PartialInfo) -> Bool = { _ in false },
        others: (mayMatch: (String) -> Bool, matches: (StoredEntry) -> Bool)? = nil
    ) throws(StoreError) -> PruneResult {
        // Partials are removed before the epoch ends, so that none is resumed in the next one. Partials that begin until then are removed below.
        let partials = try removePartials(where: matchesPartial)
        return try invalidating(scope) { () throws(StoreError) in
            let reader = try reader()
            var result = PruneResult.nothing
            result.partials = try partials + removePartials(where: matchesPartial)
            var place = Int64.max
            while true {
                let step = try reader.urls(before: place, limit: Self.scanStep)
                var ids: [Int64] = []
                for row in step {
                    var isMeant = matches(row.url)
                    if !isMeant, let others, others.mayMatch(row.url) {
                        isMeant = try reader.entry(row.id).map(others.matches) ?? false
                    }
                    if isMeant { ids.append(row.id) }
                }
                if !ids.isEmpty {
                    let removed = try withIndex { (index) throws(StoreError) in try index.removeCounted(ids) }
                    result.entries += removed.entries
                    result.bytes += removed.bytes
                }
                guard let end = step.last else { break }
                place = end.id
            }
            return result
        }
    }

    /// The entry with a number; nil if it no longer exists. Does not count as an access.
    package func entry(_ id: Int64) throws(StoreError) -> StoredEntry? {
        try withIndex { (index) throws(StoreError) in try index.catalogue().entries.entry(id) }
    }

    private static let scanStep = 500

    private func reader() throws(StoreError) -> BrowsingReader {
        // A read-only store reads through its index, which knows how to open it.
        if configuration.isReadOnly { return BrowsingReader(store: self, catalogue: nil) }
        try withIndex { (_) throws(StoreError) in }
        let connection = try Connection(path: paths.index, readOnly: true, sharesMemory: !fileSystem.isShared)
        // Without a log, readers wait for writers.
        if fileSystem.isShared { connection.busyTimeout = configuration.busyTimeout.sqliteMilliseconds }
        return BrowsingReader(store: self, catalogue: Catalogue(connection: connection))
    }
}

/// Reads the index in steps without keeping a transaction open, so that the log can be checkpointed meanwhile.
private struct BrowsingReader {
    let store: DiskStore
    /// The catalogue to read; `nil` for the store's own one.
    let catalogue: Catalogue?

    func urls(before id: Int64, limit: Int) throws(StoreError) -> [(id: Int64, url: String)] {
        if let catalogue { return try catalogue.entries.urls(before: id, limit: limit) }
        return try store.withIndex { (index) throws(StoreError) in
            try index.catalogue().entries.urls(before: id, limit: limit)
        }
    }

    func entry(_ id: Int64) throws(StoreError) -> StoredEntry? {
        guard let catalogue else { return try store.entry(id) }
        return try catalogue.entries.entry(id)
    }
}
