/// A part of a listing: the newest entries first.
public struct EntryPage: Sendable {
    public var entries: [StoredEntry]
    /// Where the next page begins (see ``DiskStore/page(after:limit:scanning:where:)``); nil when this was the last one.
    public var next: Int64?
}

extension DiskStore {
    /// The newest entries whose URL matches, page by page.
    ///
    /// The index is read through a connection of its own, beside everybody else's, so a search through a million entries
    /// holds nobody up.
    ///
    /// - Parameters:
    ///   - last: ``EntryPage/next`` of the page before; nil: from the newest entry on.
    ///   - limit: entries a page, at most.
    ///   - most: rows to look through at most. A page may so hold fewer entries than `limit`, even none, and not be the
    ///     last.
    ///   - matches: whether the entry with this URL is wanted.
    public func page(
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
                // One that went away since then is left out.
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

    /// Removes the entries whose URL matches with what is unfinished of them, and invalidates `scope`, which must include all of
    /// them.
    ///
    /// In steps, between which other callers get their turn. What is asked for while it works may stay.
    @discardableResult
    public func remove(
        invalidating scope: InvalidationScope, where matches: (String) -> Bool
    ) throws(StoreError) -> PruneResult {
        try invalidating(scope) { () throws(StoreError) in
            let reader = try reader()
            var result = PruneResult.nothing
            var place = Int64.max
            while true {
                let step = try reader.urls(before: place, limit: Self.scanStep)
                let ids = step.filter { matches($0.url) }.map(\.id)
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

    /// The entry with a number; nil when it is gone. Does not count as an access.
    public func entry(_ id: Int64) throws(StoreError) -> StoredEntry? {
        try withIndex { (index) throws(StoreError) in try index.catalogue().entry(id) }
    }

    private static let scanStep = 500

    private func reader() throws(StoreError) -> BrowsingReader {
        // A store that may not be written reads in a way of its own, which the index knows.
        if configuration.isReadOnly { return BrowsingReader(store: self, catalogue: nil) }
        try withIndex { (_) throws(StoreError) in }
        let connection = try Connection(path: paths.index, readOnly: true)
        return BrowsingReader(store: self, catalogue: Catalogue(connection: connection))
    }
}

/// Reads the index in steps, none of which leaves a transaction open: the log of changes can go on being written back.
private struct BrowsingReader {
    let store: DiskStore
    /// nil: the store's own.
    let catalogue: Catalogue?

    func urls(before id: Int64, limit: Int) throws(StoreError) -> [(id: Int64, url: String)] {
        if let catalogue { return try catalogue.urls(before: id, limit: limit) }
        return try store.withIndex { (index) throws(StoreError) in
            try index.catalogue().urls(before: id, limit: limit)
        }
    }

    func entry(_ id: Int64) throws(StoreError) -> StoredEntry? {
        guard let catalogue else { return try store.entry(id) }
        return try catalogue.entry(id)
    }
}
