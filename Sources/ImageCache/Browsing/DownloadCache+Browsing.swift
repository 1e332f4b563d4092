import ConcurrencyPrimitives
public import DiskStore
public import MemoryCache
public import Transfer

/// A part of what is cached: the newest entries first.
public struct CacheEntryPage: Sendable {
    public var entries: [CacheEntry]
    /// Where the next page begins; `nil` when this was the last one.
    public var next: Int64?
}

extension DownloadCache {
    /// What is cached, the newest first, page by page, for somebody who looks through it.
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
        return try await executor.run { [self] () throws(ImageCacheError) in
            try translating {
                let page = try store.page(after: last, limit: limit) { wanted.matches($0) }
                return CacheEntryPage(entries: page.entries.map { CacheEntry($0, in: store) }, next: page.next)
            }
        }
    }

    /// The entry with a number; `nil` when it is gone. Does not count as an access.
    public func entry(_ id: Int64) async throws(ImageCacheError) -> CacheEntry? {
        try await executor.run { [self] () throws(ImageCacheError) in
            try translating { try store.entry(id).map { CacheEntry($0, in: store) } }
        }
    }

    /// The small files that ``readyAnswer(to:)`` has in memory. What images take there, ``imageStatistics`` tells.
    public var answerStatistics: MemoryCacheStatistics { fetcher.answers.statistics }

    /// What crossed the network for this cache: requests to origins, bytes received, what was resumed.
    public var transferTotals: TransferTotals { fetcher.transport.totals }

    /// What was evicted to make room, and how long it had lain unused.
    public var evictions: EvictionStatistics { store.evictions }

    /// Whether the store can be written: a word to the index and back.
    public func checkWritable() async throws(ImageCacheError) {
        try await executor.run { [self] () throws(ImageCacheError) in try translating { try store.checkWritable() } }
    }
}

/// Words that a URL must hold.
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
