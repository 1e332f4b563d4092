public import DiskStore
public import FoundationEssentials
import HTTPCaching
public import ImageCodec

/// An entry of the store, as a person or a tool looks at it.
public struct CacheEntry: Sendable, Identifiable {
    /// The entry's number; never used twice in one cache directory.
    public let id: Int64
    public var url: String
    /// Where the body is. It may be evicted at any time; ``DownloadCache/file(for:)`` gives one that stays.
    public var path: String
    /// The body's length in bytes.
    public var size: Int64
    /// What the body occupies on disk, in bytes, as `du` sees it.
    public var allocatedSize: Int64
    public var storedAt: Date
    public var lastAccessDate: Date
    /// Entries are evicted in ascending order of this, whatever the clock did.
    public var accessOrder: Int64
    /// Whose entry it is: `owner:` and a name (``FileRequest/owner``), `user:` and the name that came with a password,
    /// `authorization` for any other credentials, `netrc`; `nil`: nobody's. Nothing secret stands in it.
    public var namespace: String?
    /// What was made of the original with this URL, for an image that the cache made; `nil` for the original itself.
    public var recipe: String?
    /// The format of an image that the cache made; `nil` for an original, whose response names its type.
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
        namespace = ResolvedRequest.namespace(of: entry.key).map { namespace in
            // A fingerprint of credentials is of use to whoever guesses at them.
            namespace.hasPrefix("authorization:") ? "authorization" : namespace
        }
        if entry.key.isOfMadeImages {
            let made = MadeImageRecord(decoding: entry.metadata)
            recipe = ImageRecipe.words(entry.variant)
            format = made?.format
            record = made?.response
        } else {
            record = ResponseRecord(decoding: entry.metadata)
        }
    }

    /// Why the entry is fresh or stale, until when, and what would be sent next; `nil` when the record is damaged.
    public func explanation(at now: Date, rules: CacheRules = CacheRules()) -> Explanation? {
        record.map { rules.explain($0.response, now: now) }
    }

    /// Why the entry is fresh or stale, until when, and what would be sent next, in words.
    public func freshness(at now: Date, rules: CacheRules = CacheRules()) -> String? {
        explanation(at: now, rules: rules)?.description
    }
}

/// A partial download that waits to be continued.
public struct CachePartial: Sendable {
    /// Bytes that are here and verified by their checksums when the download continues.
    public var received: Int64
    /// The body's length, when the origin said it.
    public var total: Int64?
    public var lastUsed: Date
    /// The response that the bytes belong to.
    public var record: ResponseRecord?
}

/// All that is known of one URL.
public struct CacheInfo: Sendable {
    /// One for each variant (RFC 9111 section 4.1).
    public var entries: [CacheEntry]
    public var partial: CachePartial?
}

extension DownloadCache {
    /// All entries, in order.
    public func entries(by order: EntryOrder = .age, descending: Bool = false) throws(ImageCacheError) -> [CacheEntry] {
        var entries: [CacheEntry] = []
        try forEachEntry(by: order, descending: descending) { entries.append($0) }
        return entries
    }

    /// Calls `body` with each entry, in order, without holding all of them in memory.
    public func forEachEntry(
        by order: EntryOrder = .age, descending: Bool = false, _ body: (CacheEntry) throws -> Void
    ) throws(ImageCacheError) {
        try translating {
            try store.list(by: order, descending: descending) { entry in
                try body(CacheEntry(entry, in: store))
                return true
            }
        }
    }

    /// All that is known of a URL. Does not count as an access.
    public func info(for request: FileRequest) throws(ImageCacheError) -> CacheInfo {
        let resolved = try ResolvedRequest(request, by: fetcher.rules)
        return try translating {
            let equivalent = try Set(fetcher.equivalentCandidates(resolved, isNecessary: true).map(\.entry.id))
            let stored =
                try store.entries(for: resolved.key, withAccess: true)
                + store.entries(for: resolved.key.ofSearch, withAccess: true).filter { equivalent.contains($0.id) }
            let entries = stored.map { CacheEntry($0, in: store) }
            let partial = try store.partial(for: resolved.key).map { partial in
                CachePartial(
                    received: partial.bytesHeld, total: partial.total, lastUsed: partial.updated,
                    record: ResponseRecord(decoding: partial.header))
            }
            return CacheInfo(entries: entries, partial: partial)
        }
    }

    /// How full the store is.
    public func statistics() throws(ImageCacheError) -> StoreStatistics {
        try translating { try store.statistics() }
    }

    /// Removes all variants of a URL and its partial. A file that somebody reads stays readable for them.
    ///
    /// - Returns: How many entries and partials there were.
    @discardableResult
    public func remove(_ request: FileRequest) throws(ImageCacheError) -> Int {
        let resolved = try ResolvedRequest(request, by: fetcher.rules)
        defer { forgetImages(of: request) }
        return try translating {
            let keys = [resolved.key, resolved.key.ofSearch]
            let count =
                try keys.reduce(0) { try $0 + store.entries(for: $1).count }
                + (store.partial(for: resolved.key) == nil ? 0 : 1)
            try store.remove(resolved.allKeys, invalidating: .resource(resolved.url))
            return count
        }
    }

    /// Evicts, the longest unused first, until the store holds at most `size` bytes and nothing that has not been used
    /// for `age`.
    public func prune(
        to size: Int64? = nil, olderThan age: Duration? = nil, dryRun: Bool = false
    ) throws(ImageCacheError) -> PruneResult {
        try translating { try store.prune(to: size, olderThan: age, dryRun: dryRun) }
    }

    /// How the configured capacity differs from the one that the store remembered when it was opened; nil if it does not.
    public var capacityChange: CapacityChange? { store.capacityChange }

    /// Evicts what exceeds the capacity, the longest unused first. What runs under way hold stays.
    public func keepWithinCapacity() throws(ImageCacheError) -> PruneResult {
        try translating { try store.keepWithinCapacity() }
    }

    /// Deletes what killed processes left behind: bodies without an entry, partials past their lifetime.
    public func sweep() async throws(ImageCacheError) {
        do { try await store.sweep() } catch { throw Self.translated(error) }
    }

    /// Removes everything, or all partials.
    public func clear(partialsOnly: Bool = false) throws(ImageCacheError) {
        if !partialsOnly { forgetImages() }
        try translating { _ = try store.clear(partialsOnly ? .partials : .everything) }
    }

    /// Removes everything that one owner has: entries and partials. See ``FileRequest/owner``.
    public func clear(owner: String) throws(ImageCacheError) {
        var request = FileRequest("")
        request.owner = owner
        try clear(namespaceOf: request)
    }

    /// Removes everything, entries and partials, that belongs to whom a request's owner or credentials name; its URL does
    /// not matter. Of a request that names nobody: what is nobody's.
    public func clear(namespaceOf request: FileRequest) throws(ImageCacheError) {
        let namespace = ResolvedRequest.owner(of: request, userinfo: nil)
        forgetImages()
        try translating {
            var keys: [EntryKey] = []
            try store.list { entry in
                if ResolvedRequest.namespace(of: entry.key) == namespace { keys.append(entry.key) }
                return true
            }
            keys += try store.partials().map(\.key).filter { ResolvedRequest.namespace(of: $0) == namespace }
            try store.remove(keys, invalidating: .everything)
        }
    }

    /// Checks every body against its length and checksum.
    ///
    /// - Parameters:
    ///   - repair: Drop what is wrong, so that it is fetched anew.
    ///   - report: Called with each entry and what was found of it.
    public func verify(
        repair: Bool = false, _ report: (CacheEntry, Verdict) -> Void = { _, _ in }
    ) throws(ImageCacheError) -> VerifyResult {
        try translating {
            try store.verify(repair: repair) { entry, verdict in
                report(CacheEntry(entry, in: store), verdict)
                return true
            }
        }
    }

    /// Writes out access dates that are batched in memory. What cannot be written is lost: it orders evictions, no more.
    public func flush() { try? store.flush() }

    var store: DiskStore { fetcher.store }

    func translating<Result>(_ body: () throws -> Result) throws(ImageCacheError) -> Result {
        do { return try body() } catch { throw Self.translated(error) }
    }

    private static func translated(_ error: any Error) -> ImageCacheError {
        switch error {
        case let error as StoreError: ImageCacheError(error)
        case let error as ImageCacheError: error
        case is CancellationError: ImageCacheError(.cancelled, message: "cancelled", cause: error)
        default: ImageCacheError(.store(.io), message: "\(error)", cause: error)
        }
    }
}
