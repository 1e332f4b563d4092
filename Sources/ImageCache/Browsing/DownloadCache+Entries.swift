public import DiskStore
public import FoundationEssentials
import HTTPCaching
public import ImageCodec

/// An entry of the store: a complete body, and the response that brought it.
public struct CacheEntry: Sendable, Identifiable {
    /// The entry's number; never used twice in one cache directory.
    public let id: Int64
    public var url: String
    /// The body's path. It may be evicted at any time; ``DownloadCache/file(for:)-(FileRequest)`` returns one that stays.
    public var path: String
    /// The body's length in bytes.
    public var size: Int64
    /// Bytes that the body occupies on disk, as `du` counts them.
    public var allocatedSize: Int64
    public var storedAt: Date
    public var lastAccessDate: Date
    /// The entry's place in the order of eviction, ascending; independent of the clock.
    public var accessOrder: Int64
    /// The namespace of the entry: `owner:` and a name (``FileRequest/owner``), `user:` and the name that came with a password,
    /// `authorization` for any other credentials, `netrc`; `nil`: the one that all share. It holds nothing secret.
    public var namespace: String?
    /// The size, effects and format of an image derived from the original with this URL, in words; `nil` for an original.
    public var recipe: String?
    /// The format of a derived image; `nil` for an original, whose response names its type.
    public var format: ImageFormat?
    /// The response; `nil` when its record is damaged (the entry then counts as a miss).
    public var record: ResponseRecord?

    init(_ entry: StoredEntry, in store: DiskStore) {
        id = entry.id
        url = entry.url
        path = store.path(of: entry)
        size = entry.size
        allocatedSize = entry.allocated
        storedAt = entry.created
        lastAccessDate = entry.lastAccess ?? entry.created
        accessOrder = entry.accessSequence ?? 0
        let key = StoreKey(entry.key.value)
        // The digest of credentials helps to guess them.
        if case .credentials? = key?.namespace { namespace = "authorization" } else { namespace = key?.namespace?.text }
        if case .derivedImages? = key {
            let derived = DerivedImageRecord(decoding: entry.metadata)
            recipe = ImageRecipe.words(entry.variant)
            format = derived?.format
            record = derived?.response
        } else {
            record = ResponseRecord(decoding: entry.metadata)
        }
    }

    /// The reasons why the entry is fresh or stale, until when, and the next request for it; `nil` when the record is damaged.
    public func explanation(at now: Date, rules: CacheRules = CacheRules()) -> Explanation? {
        record.map { rules.explain($0.response, now: now) }
    }

    /// The ``explanation(at:rules:)`` in words.
    public func freshness(at now: Date, rules: CacheRules = CacheRules()) -> String? {
        explanation(at: now, rules: rules)?.description
    }
}

/// A partial download that can be continued.
public struct CachePartial: Sendable {
    /// Bytes received; verified by their checksums when the download continues.
    public var received: Int64
    /// The body's length, if the origin declared it.
    public var total: Int64?
    public var lastUsed: Date
    /// The response that the bytes belong to.
    public var record: ResponseRecord?
}

/// The entries and the partial download of one URL.
public struct CacheInfo: Sendable {
    /// One for each variant (RFC 9111 section 4.1).
    public var entries: [CacheEntry]
    public var partial: CachePartial?
}

extension DownloadCache {
    /// All entries, in order.
    public func entries(
        by order: EntryOrder = .age, descending: Bool = false
    ) async throws(ImageCacheError) -> [CacheEntry] {
        try await onExecutor { (operations) throws(ImageCacheError) in
            var entries: [CacheEntry] = []
            try operations.forEachEntry(by: order, descending: descending) { entries.append($0) }
            return entries
        }
    }

    /// Calls `body` with each entry, in order, on a thread of the cache, without holding all of them in memory.
    ///
    /// - Throws: ``ImageCacheError``; an error of `body` is its cause.
    public func forEachEntry(
        by order: EntryOrder = .age, descending: Bool = false,
        _ body: @escaping @Sendable (CacheEntry) throws -> Void
    ) async throws(ImageCacheError) {
        try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.forEachEntry(by: order, descending: descending, body)
        }
    }

    /// The entries and the partial download of a request's URL. Does not count as an access.
    public func info(for request: FileRequest) async throws(ImageCacheError) -> CacheInfo {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.info(for: request) }
    }

    /// The store's usage: entries, bytes on disk, capacity, free space.
    public func statistics() async throws(ImageCacheError) -> StoreStatistics {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.statistics() }
    }

    /// Checks every body against its length and checksum.
    ///
    /// - Parameters:
    ///   - repair: Removes damaged entries, so that they are fetched anew.
    ///   - report: Called with each entry and its integrity, on a thread of the cache.
    @discardableResult
    public func verify(
        repair: Bool = false, _ report: @escaping @Sendable (CacheEntry, EntryIntegrity) -> Void = { _, _ in }
    ) async throws(ImageCacheError) -> VerifyResult {
        try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.verify(repair: repair, report)
        }
    }
}
