import ConcurrencyPrimitives
public import DiskStore
import HTTPSemantics
public import Transfer

/// A page of the list of entries, newest first.
package struct CacheEntryPage: Sendable {
    package var entries: [CacheEntry]
    /// The position of the next page; `nil` for the last one.
    package var next: Int64?
}

extension DownloadCache {
    /// A page of the entries, newest first, for a user interface.
    ///
    /// This does not count as an access, and does not block other callers: the index is read in small steps.
    ///
    /// - Parameters:
    ///   - search: Words that the URL must contain, in any order, ignoring case; empty for all entries. Secrets in the
    ///     URL (``MaskedText``) match nothing, so that a search cannot find them out.
    ///   - last: ``CacheEntryPage/next`` of the previous page; `nil` for the first page.
    ///   - limit: The maximum number of entries. A page may have fewer or none and still have a next page, because a search examines at
    ///     most
    ///     200,000 entries for a page.
    package func entries(
        matching search: String = "", after last: Int64? = nil, limit: Int
    ) async throws(ImageCacheError) -> CacheEntryPage {
        let wanted = URLSearch(search)
        return try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.translating {
                let store = operations.store
                let page = try store.page(after: last, limit: limit) { wanted.matches($0) }
                return CacheEntryPage(entries: page.entries.map { CacheEntry($0, in: store) }, next: page.next)
            }
        }
    }

    /// The first entries of an order, for a user interface. This does not count as an access.
    ///
    /// - Parameters:
    ///   - search: As in ``entries(matching:after:limit:)``.
    ///   - most: The maximum number of entries to examine.
    ///   - shown: Returns the part of an entry to show; `nil` to skip it.
    package func entries<Shown: Sendable>(
        by order: EntryOrder, descending: Bool, matching search: String, examining most: Int, limit: Int,
        _ shown: @escaping @Sendable (CacheEntry) -> Shown?
    ) async throws(ImageCacheError) -> [Shown] {
        let wanted = URLSearch(search)
        return try await onExecutor { (operations) throws(ImageCacheError) in
            var found: [Shown] = []
            var examined = 0
            try operations.translating {
                try operations.store.list(by: order, descending: descending) { stored in
                    examined += 1
                    if wanted.matches(stored.url), let entry = shown(CacheEntry(stored, in: operations.store)) {
                        found.append(entry)
                    }
                    return found.count < limit && examined < most
                }
            }
            return found
        }
    }

    /// The entry with an id; `nil` if it does not exist. Does not count as an access.
    public func entry(_ id: Int64) async throws(ImageCacheError) -> CacheEntry? {
        try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.translating { try operations.store.entry(id).map { CacheEntry($0, in: operations.store) } }
        }
    }

    /// The traffic of this cache: requests to origins, received bytes, and resumed downloads.
    public var transferTotals: TransferTotals { fetcher.sources.totals }

    /// The evicted entries, and how long they had been unused.
    public var evictions: EvictionStatistics {
        get async { await executor.run { [store = fetcher.store] in store.evictions } }
    }

    /// Checks that the store can be written, by an empty change of the index and a temporary file.
    public func checkWritable() async throws(ImageCacheError) {
        try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.translating { try operations.store.checkWritable() }
        }
    }
}

/// A search for URLs that contain several words, not counting their secrets.
struct URLSearch: Sendable {
    private let words: [[UInt8]]

    init(_ text: String) {
        words = text.split(whereSeparator: \.isWhitespace).map { $0.utf8.map(Self.lowered) }
    }

    func matches(_ url: String) -> Bool {
        // Masking takes longer than a search.
        contains(url) && (words.isEmpty || contains(MaskedText.masked(url)))
    }

    private func contains(_ url: String) -> Bool {
        words.allSatisfy { word in
            var url = url
            return url.withUTF8 { Self.contains($0, word) }
        }
    }

    private static func contains(_ text: UnsafeBufferPointer<UInt8>, _ word: [UInt8]) -> Bool {
        guard let first = word.first, text.count >= word.count else { return word.isEmpty }
        for start in 0...(text.count - word.count) where lowered(text[start]) == first {
            if (1..<word.count).allSatisfy({ lowered(text[start + $0]) == word[$0] }) { return true }
        }
        return false
    }

    /// Lowers only ASCII letters, as URLs have no others.
    private static func lowered(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
