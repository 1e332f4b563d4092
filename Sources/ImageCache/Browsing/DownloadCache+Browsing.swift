import ConcurrencyPrimitives
public import DiskStore
public import Transfer

/// A page of the list of entries, the newest first.
public struct CacheEntryPage: Sendable {
    public var entries: [CacheEntry]
    /// The start of the next page; `nil` after the last one.
    public var next: Int64?
}

extension DownloadCache {
    /// The entries, the newest first, page by page: for a user interface.
    ///
    /// Does not count as an access, and holds up nobody: the index is read in small steps.
    ///
    /// - Parameters:
    ///   - search: Words that all stand in the URL, in any order, upper and lower case alike; empty: everything.
    ///   - last: ``CacheEntryPage/next`` of the page before; `nil`: from the newest entry on.
    ///   - limit: Entries a page, at most. A page may hold fewer, even none, and not be the last: a search looks through
    ///     200,000 entries a page.
    public func entries(
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

    /// The entry with a number; `nil` when it is gone. Does not count as an access.
    public func entry(_ id: Int64) async throws(ImageCacheError) -> CacheEntry? {
        try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.translating { try operations.store.entry(id).map { CacheEntry($0, in: operations.store) } }
        }
    }

    /// The traffic of this cache: requests to origins, bytes received, downloads continued.
    public var transferTotals: TransferTotals { fetcher.sources.totals }

    /// The entries that were evicted to make room, and how long they had been unused.
    public var evictions: EvictionStatistics {
        get async { await executor.run { [store = fetcher.store] in store.evictions } }
    }

    /// Checks that the store can be written, by a change of the index that is taken back.
    public func checkWritable() async throws(ImageCacheError) {
        try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.translating { try operations.store.checkWritable() }
        }
    }
}

/// A search for URLs that hold several words.
struct URLSearch: Sendable {
    private let words: [[UInt8]]

    init(_ text: String) {
        words = text.split(whereSeparator: \.isWhitespace).map { $0.utf8.map(Self.lowered) }
    }

    func matches(_ url: String) -> Bool {
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

    /// ASCII alone: a URL has no other letters.
    private static func lowered(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
