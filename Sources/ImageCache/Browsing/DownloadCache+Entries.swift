import ConcurrencyPrimitives
public import DiskStore
public import FoundationEssentials
import HTTPCaching
public import ImageCodec
import TextIdentity

/// An entry in the store: a complete body and its response.
public struct CacheEntry: Sendable, Identifiable {
    /// The entry's number, which is never reused in a cache directory.
    public let id: Int64
    public var url: String
    /// The body's path. The file may be evicted at any time; ``DownloadCache/file(for:)-(FileRequest)`` returns one that remains.
    public var path: String
    /// The body's length in bytes.
    public var size: Int64
    /// The space that the body occupies on disk in bytes, as reported by `du`.
    public var allocatedSize: Int64
    public var storedAt: Date
    public var lastAccessDate: Date
    /// The entry's place in the order of eviction, ascending and independent of the clock.
    public var accessOrder: Int64
    /// The namespace of the entry; `nil` for the shared one. It is `owner:` and a name (``FileRequest/owner``), `user:` and the name of a
    /// user with a password, `authorization` for other credentials, or `netrc`. Contains no secrets.
    public var namespace: String?
    /// A description of the size, effects and format of a derived image, or the kind of another file made from a body, such as `zsync`; `nil` for
    /// an original.
    public var recipe: String?
    /// The format of a derived image; `nil` for an original, whose type is in its response.
    public var format: ImageFormat?
    /// The response; `nil` if its record is damaged, and the entry counts as a miss.
    public var record: ResponseRecord?
    private let key: StoreKey?
    private let hasVariant: Bool

    init(_ entry: StoredEntry, in store: DiskStore) {
        id = entry.id
        url = entry.url
        path = store.path(of: entry)
        size = entry.size
        allocatedSize = entry.allocated
        storedAt = entry.created
        lastAccessDate = entry.lastAccess ?? entry.created
        accessOrder = entry.accessSequence ?? 0
        key = StoreKey(entry.key.value)
        hasVariant = !entry.variant.isEmpty
        namespace = key?.namespace?.shownText
        if case .derivedImages? = key {
            let derived = DerivedImageRecord(decoding: entry.metadata)
            recipe = ImageRecipe.words(entry.variant)
            format = derived?.format
            record = derived?.response
        } else {
            record = ResponseRecord(decoding: entry.metadata)
        }
    }

    /// True if the entry answers URLs that differ in their query (`No-Vary-Search`).
    var isOfNoVarySearch: Bool { if case .noVarySearch? = key { true } else { false } }

    /// The request that the entry answers; `nil` if it is unknown: it had credentials or a content, or the response varies.
    var request: FileRequest? {
        guard case .response(let key)? = key, key.method == .get, key.contentDigest == nil, !hasVariant else {
            return nil
        }
        var request = FileRequest(key.url)
        switch key.namespace {
        case .shared: break
        case .owner(let name): request.owner = name.wrappedValue
        case .user, .credentials, .netrc: return nil
        }
        return request
    }

    /// The freshness of the entry with its reasons and the next request for it; `nil` if the record is damaged.
    public func explanation(at now: Date, rules: CacheRules = CacheRules()) -> Explanation? {
        record.map { rules.explain($0.response, now: now) }
    }

    /// The text of ``explanation(at:rules:)``.
    public func freshness(at now: Date, rules: CacheRules = CacheRules()) -> String? {
        explanation(at: now, rules: rules)?.description
    }
}

/// A partial download that can be resumed.
public struct CachePartial: Sendable {
    public var url: String
    /// The namespace of the download, as in ``CacheEntry/namespace``.
    public var namespace: String?
    /// The number of received bytes, whose checksums are verified when the download is resumed.
    public var received: Int64
    /// The body's length, if the origin declared it.
    public var total: Int64?
    public var lastUsed: Date
    /// True if a process is downloading it now.
    public var isInUse: Bool
    /// True if the response has a validator, so that any request for the URL resumes the download. Otherwise only a request with a digest of the
    /// whole body does.
    public var hasValidator: Bool
    /// The response that the bytes belong to.
    public var record: ResponseRecord?
    let key: EntryKey

    init(_ partial: PartialInfo) {
        let key = StoreKey(partial.key.value)
        record = ResponseRecord(decoding: partial.header)
        url = record?.url ?? partial.key.value
        namespace = key?.namespace?.shownText
        received = partial.bytesHeld
        total = partial.total
        lastUsed = partial.updated
        isInUse = partial.isInUse
        hasValidator = record?.validator != nil
        self.key = partial.key
    }
}

extension Namespace {
    /// The namespace in listings. The digest of credentials is omitted, because it would help to guess them.
    var shownText: String? { if case .credentials = self { "authorization" } else { text } }
}

/// The entries and the partial download of one URL.
public struct CacheInfo: Sendable {
    /// The entries, one for each variant (RFC 9111 section 4.1).
    public var entries: [CacheEntry]
    public var partial: CachePartial?
}

extension DownloadCache {
    /// All entries in order.
    public func entries(
        by order: EntryOrder = .age, descending: Bool = false
    ) async throws(ImageCacheError) -> [CacheEntry] {
        try await onExecutor { (operations) throws(ImageCacheError) in
            var entries: [CacheEntry] = []
            try operations.forEachEntry(by: order, descending: descending) { entries.append($0) }
            return entries
        }
    }

    /// Calls `body` with each entry in order, on a thread of the cache. Only a few entries are in memory at a time.
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

    /// The entries and the partial download of a URL. Does not count as an access.
    public func info(for request: FileRequest) async throws(ImageCacheError) -> CacheInfo {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.info(for: request) }
    }

    /// The usage of the store: entries, bytes on disk, capacity, and free space.
    public func statistics() async throws(ImageCacheError) -> StoreStatistics {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.statistics() }
    }

    /// Checks the length and the checksum of each body.
    ///
    /// - Parameters:
    ///   - repair: True to repair damaged entries. Only the damaged blocks of a body over 256 KiB are fetched again, if its response has
    ///     a strong validator. If that fails, its intact blocks are kept for the next request. Other damaged entries are removed.
    ///   - report: Called with each entry and its integrity, on a thread of the cache.
    @discardableResult
    public func verify(
        repair: Bool = false, _ report: @escaping @Sendable (CacheEntry, EntryIntegrity) -> Void = { _, _ in }
    ) async throws(ImageCacheError) -> VerifyResult {
        let damaged = Locked<[CacheEntry]>([])
        let result = try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.verify(repair: repair) { entry, integrity, kept in
                if kept != nil { damaged.withLock { $0.append(entry) } }
                report(entry, integrity)
            }
        }
        for entry in damaged.withLock({ $0 }) { _ = try? await fetchDamagedBlocks(of: entry) }
        return result
    }

    /// Fetches the blocks of a body that ``BlockingOperations/verify(repair:_:)`` found damaged.
    ///
    /// - Parameters:
    ///   - proxy: The proxy to use; `nil` for the environment's.
    ///   - caFile: The certificates to trust; `nil` for the system's.
    /// - Returns: The file; `nil` if ``CacheEntry/request`` is unknown.
    package func fetchDamagedBlocks(
        of entry: CacheEntry, proxy: String? = nil, caFile: String? = nil
    ) async throws(ImageCacheError) -> CachedFile? {
        guard var request = entry.request else { return nil }
        (request.transfer.proxy, request.transfer.caFile) = (proxy, caFile)
        return try await file(for: request)
    }
}
