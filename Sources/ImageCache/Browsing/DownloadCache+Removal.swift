import DiskStore
import HTTPSemantics
import TextIdentity

/// The entries to remove.
public enum RemovalTarget: Sendable, Hashable {
    /// An entry (``CacheEntry/id``); for an original, also the images derived from it.
    case entry(CacheEntry.ID)
    /// Everything stored for one URL, of all owners.
    case url(String)
    /// All normalised URLs, as in listings, that begin with a text or with its normalised form.
    case prefix(String)
    /// All URLs of a host, in any spelling, with any scheme and port.
    case host(String)
    /// All data of one owner (``FileRequest/owner``): entries, partial downloads, lists and pins.
    case owner(String)
    /// Everything of all owners except pinned entries. Unlike ``DownloadCache/clear(_:includingPins:)``, this applies to all machines that
    /// share a store.
    case everything
}

/// A part of a cache.
public enum CachePart: Sendable, Hashable {
    /// The entries, derived images, partial downloads, and the contents of memory.
    case everything
    /// The partial downloads that are not in use.
    case partials
    /// The images, responses and values in memory. The disk is not changed.
    case memory
}

/// The numbers of removed items.
public struct RemovalResult: Sendable, Hashable {
    /// The number of complete bodies: originals and derived images.
    public var entries = 0
    /// The number of partial downloads.
    public var partials = 0
    /// The space that the entries occupied on disk, in bytes. It is freed when the bodies have no more readers.
    public var bytes: Int64 = 0

    public init(entries: Int = 0, partials: Int = 0, bytes: Int64 = 0) {
        self.entries = entries
        self.partials = partials
        self.bytes = bytes
    }

    init(_ result: PruneResult, partials: Int = 0) {
        self.init(entries: result.entries, partials: result.partials + partials, bytes: result.bytes)
    }

    static func + (left: Self, right: Self) -> Self {
        RemovalResult(
            entries: left.entries + right.entries, partials: left.partials + right.partials,
            bytes: left.bytes + right.bytes)
    }

    package static func += (left: inout Self, right: Self) { left = left + right }
}

extension DownloadCache {
    /// Removes all variants of a request's URL from its namespace, the images derived from them, and its partial download.
    ///
    /// Open files remain readable. A download that started before the call is not stored; one that starts during the call may be. This
    /// holds for all processes that use the directory.
    @discardableResult
    public func remove(_ request: FileRequest) async throws(ImageCacheError) -> RemovalResult {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.remove(request) }
    }

    /// Removes the entries that match a target, the images derived from them, and their partial downloads.
    ///
    /// Open files and running downloads are treated as in ``remove(_:)-(FileRequest)``. An entry, and a URL in the shared namespace, are
    /// found by key. For other owners, prefixes and hosts the whole index is searched, without blocking other callers.
    @discardableResult
    public func remove(_ target: RemovalTarget) async throws(ImageCacheError) -> RemovalResult {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.remove(target) }
    }

    /// Evicts the least recently used entries, and deletes the files of killed processes.
    ///
    /// Evicted entries are not invalidated, so running downloads of them are stored.
    ///
    /// - Parameters:
    ///   - size: The limit for bodies and partials in bytes; default: the store's capacity.
    ///   - age: The time without use after which entries are evicted. Default: unlimited.
    ///   - dryRun: True to report what `size` and `age` would evict, without evicting.
    ///   - includingPins: True to evict also pinned entries. Default false.
    @discardableResult
    public func prune(
        to size: Int64? = nil, olderThan age: Duration? = nil, dryRun: Bool = false, includingPins: Bool = false
    ) async throws(ImageCacheError) -> RemovalResult {
        // The eviction goes first, because a sweep needs space on a full disk.
        let pruned = try await onExecutor { (operations) throws(ImageCacheError) in
            let excess = try size == nil && !dryRun ? operations.evictExcess() : RemovalResult()
            return try excess
                + operations.prune(
                    to: size, olderThan: age, dryRun: dryRun, includingPins: includingPins)
        }
        if !dryRun { try await sweep() }
        return pruned
    }

    /// Deletes bodies without an entry, and expired partials.
    package func sweep() async throws(ImageCacheError) {
        let store = fetcher.store
        do {
            try await withTaskExecutorPreference(executor) { _ = try await store.sweep() }
        } catch {
            throw ImageCacheError(any: error)
        }
    }

    /// Removes everything, or one part of the cache. Open files remain readable.
    ///
    /// - Parameters:
    ///   - part: The part to remove. Default: everything.
    ///   - includingPins: True to remove also pinned entries; their sets remain and are downloaded again. Default false.
    @discardableResult
    public func clear(
        _ part: CachePart = .everything, includingPins: Bool = false
    ) async throws(ImageCacheError) -> RemovalResult {
        try await onExecutor { (operations) throws(ImageCacheError) in
            try operations.clear(part, includingPins: includingPins)
        }
    }
}

extension RemovalTarget {
    /// Matches the normalised URLs of the target.
    package var matcher: @Sendable (String) -> Bool {
        switch self {
        case .url(let url):
            let normalized = Self.normalized(url)
            return { $0.hasSameBytes(as: normalized) }
        case .prefix(let prefix):
            // A prefix need not be a whole URL.
            let normalized = Self.normalized(prefix)
            return { $0.utf8.starts(with: prefix.utf8) || $0.utf8.starts(with: normalized.utf8) }
        case .host(let host):
            let wanted = Self.normalized(host: host)
            return { (try? HTTPURL($0))?.host == wanted }
        case .everything: return { _ in true }
        case .entry, .owner: return { _ in false }
        }
    }

    /// Matches the entries that a removal of the target removes, apart from images made from them.
    package var entryMatcher: @Sendable (CacheEntry) -> Bool {
        let (matches, places) = (matcher, places)
        return { entry in
            if matches(entry.url) { return true }
            guard entry.isOfNoVarySearch, !places.isEmpty else { return false }
            let place = Self.place(of: entry.url)
            return places.contains { $0.hasSameBytes(as: place) }
        }
    }

    /// The URLs without a query whose responses to equivalent URLs are meant, if the target names a query that they may not vary on.
    package var places: [String] {
        switch self {
        case .url(let url): [Self.place(of: Self.normalized(url))]
        case .prefix(let prefix) where prefix.utf8.contains(UInt8(ascii: "?")):
            [prefix, Self.normalized(prefix)].map(Self.place)
        case .prefix, .host, .entry, .owner, .everything: []
        }
    }

    /// A URL without its query.
    static func place(of url: String) -> String { String(Substring(url.utf8.prefix { $0 != UInt8(ascii: "?") })) }

    /// The URL as it is stored. A text that is not a URL is returned unchanged, and matches nothing.
    static func normalized(_ url: String) -> String { (try? HTTPURL(url))?.normalized ?? url }

    /// The host as it is in stored URLs. A text that is not a host is returned unchanged, and matches nothing.
    package static func normalized(host: String) -> String { HTTPURL.host(host) ?? host }
}
