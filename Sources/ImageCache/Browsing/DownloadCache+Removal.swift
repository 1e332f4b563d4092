import DiskStore
import HTTPSemantics
import TextIdentity

/// The entries to remove.
public enum RemovalTarget: Sendable, Hashable {
    /// One entry (``CacheEntry/id``), and if it is an original, the images derived from it.
    case entry(CacheEntry.ID)
    /// Everything stored for one URL, of every owner.
    case url(String)
    /// All URLs with a prefix, compared with the normalised URL as listings show it.
    case prefix(String)
    /// All URLs of one host, whatever their scheme and port.
    case host(String)
    /// Everything of one owner (``FileRequest/owner``): entries, partial downloads, lists and pins.
    case owner(String)
    /// Everything of everybody but what is pinned. As ``DownloadCache/clear(_:includingPins:)``, and unlike it for all machines that share a
    /// store.
    case everything
}

/// A part of a cache.
public enum CachePart: Sendable, Hashable {
    /// Entries, images derived from them, partial downloads, and what is in memory.
    case everything
    /// The partial downloads that are not in use.
    case partials
    /// The images and responses in memory; the disk keeps them.
    case memory
}

/// The extent of a removal.
public struct RemovalResult: Sendable, Hashable {
    /// Complete bodies: originals and images derived from them.
    public var entries = 0
    /// Partial downloads.
    public var partials = 0
    /// Bytes that the entries occupied on disk. The disk has them back when nobody reads the bodies any more.
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
}

extension DownloadCache {
    /// Removes all variants of a request's URL from its namespace, the images derived from them, and its partial download.
    ///
    /// A file that somebody reads stays readable for them. A download that began before is not stored; one that begins during the
    /// call may be. This holds for every process on the directory.
    @discardableResult
    public func remove(_ request: FileRequest) async throws(ImageCacheError) -> RemovalResult {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.remove(request) }
    }

    /// Removes the entries that a target names, the images derived from them, and their partial downloads.
    ///
    /// As ``remove(_:)-(FileRequest)``. An entry and the shared namespace of a URL are found at once; other owners' entries, prefixes
    /// and hosts are searched for in the whole index, which holds up nobody.
    @discardableResult
    public func remove(_ target: RemovalTarget) async throws(ImageCacheError) -> RemovalResult {
        try await onExecutor { (operations) throws(ImageCacheError) in try operations.remove(target) }
    }

    /// Evicts entries, the longest unused first, and deletes the files that killed processes left behind.
    ///
    /// The entries may be fetched again at once: a prune invalidates nothing.
    ///
    /// - Parameters:
    ///   - size: Bytes of bodies and partials that may stay; default: the store's capacity.
    ///   - age: Entries that have not been used for so long are evicted. Default: none for their age.
    ///   - dryRun: Only reports what would be evicted for `size` and `age`.
    ///   - includingPins: Evicts pinned entries too. Default false.
    @discardableResult
    public func prune(
        to size: Int64? = nil, olderThan age: Duration? = nil, dryRun: Bool = false, includingPins: Bool = false
    ) async throws(ImageCacheError) -> RemovalResult {
        // In this order: on a full disk there is room for a sweep's notes only afterwards.
        let pruned = try await onExecutor { (operations) throws(ImageCacheError) in
            let excess = try size == nil && !dryRun ? operations.evictExcess() : RemovalResult()
            return try excess
                + operations.prune(
                    to: size, olderThan: age, dryRun: dryRun, includingPins: includingPins)
        }
        if !dryRun { try await sweep() }
        return pruned
    }

    /// Deletes bodies without an entry and partials past their lifetime.
    package func sweep() async throws(ImageCacheError) {
        let store = fetcher.store
        do {
            try await withTaskExecutorPreference(executor) { _ = try await store.sweep() }
        } catch {
            throw ImageCacheError(any: error)
        }
    }

    /// Removes everything, or all of one part. Files that somebody reads stay readable for them.
    ///
    /// - Parameters:
    ///   - part: The part to empty. Default: everything.
    ///   - includingPins: Removes pinned entries too; their sets remain, and are downloaded anew. Default false.
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
    /// Matches the normalised URLs that are meant.
    var matcher: @Sendable (String) -> Bool {
        switch self {
        case .url(let url):
            let normalized = Self.normalized(url)
            return { $0.hasSameBytes(as: normalized) }
        case .prefix(let prefix): return { $0.utf8.starts(with: prefix.utf8) }
        case .host(let host):
            let wanted = host.lowercased()
            return { (try? HTTPURL($0))?.host == wanted }
        case .everything: return { _ in true }
        case .entry, .owner: return { _ in false }
        }
    }

    /// A URL as it is stored; text that is no URL is stored nowhere.
    static func normalized(_ url: String) -> String { (try? HTTPURL(url))?.normalized ?? url }
}
