import ConcurrencyPrimitives
public import DiskStore
import HTTPCaching
import HTTPSemantics

/// What a purge takes away.
public enum PurgeTarget: Sendable, Hashable {
    /// All that is stored for one URL, of every owner.
    case url(String)
    /// All URLs that begin so. Compared with the normalised URL, as listings show it.
    case prefix(String)
    /// All URLs of one host, whatever their scheme and port.
    case host(String)
    case everything
}

extension DownloadCache {
    /// Removes what the target names: originals, what was made of them, and what is unfinished of them. A file that
    /// somebody reads stays readable for them.
    ///
    /// A URL goes at once; what other owners have of it, and a prefix or a host, is looked for among all entries, which
    /// holds up nobody. What was asked for before is not stored any more, and what is asked for meanwhile may stay; in every
    /// process on the directory.
    ///
    /// - Returns: How many entries went, and the bytes that they occupied.
    @discardableResult
    public func purge(_ target: PurgeTarget) async throws(ImageCacheError) -> PruneResult {
        try await executor.run { [self] () throws(ImageCacheError) in
            var result = PruneResult.nothing
            var target = target
            if case .url(let url) = target {
                result = try purgeByKey(FileRequest(url))
                target = .url(fetcher.rules.keyURL(of: url))
            }
            let others = try translating {
                if target == .everything { return try store.clear() }
                let matches = target.matcher
                let result = try store.remove(invalidating: target.scope, where: matches)
                for partial in try store.partials() {
                    guard let record = ResponseRecord(decoding: partial.header), matches(record.url) else { continue }
                    try store.removePartials(for: partial.key)
                }
                return result
            }
            if others.entries > 0 { forgetImages() }
            return PruneResult(entries: result.entries + others.entries, bytes: result.bytes + others.bytes)
        }
    }

    /// Removes what belongs to nobody in particular, which is nearly all: found without a search.
    private func purgeByKey(_ request: FileRequest) throws(ImageCacheError) -> PruneResult {
        let resolved = try ResolvedRequest(request, by: fetcher.rules)
        defer { forgetImages(of: request) }
        return try translating {
            try store.remove(resolved.allKeys, invalidating: .resource(resolved.url))
        }
    }

    /// Removes one entry, and what was made of it if it is an original. False if it was gone.
    @discardableResult
    public func remove(entry id: Int64) async throws(ImageCacheError) -> Bool {
        try await executor.run { [self] () throws(ImageCacheError) in
            defer { forgetImages() }
            return try translating {
                guard let entry = try store.entry(id) else { return false }
                return try store.remove(entry, invalidating: entry.key.isOfMadeImages ? nil : entry.key.ofMadeImages)
            }
        }
    }
}

extension PurgeTarget {
    /// The least that the store can invalidate and all that is meant is in. A URL stands for itself under every owner.
    fileprivate var scope: InvalidationScope {
        if case .url(let url) = self {
            .resource(Self.normalized(url))
        } else {
            .everything
        }
    }

    /// Whether a stored URL is meant.
    var matcher: @Sendable (String) -> Bool {
        switch self {
        case .url(let url):
            let normalized = Self.normalized(url)
            return { $0 == normalized }
        case .prefix(let prefix): return { $0.hasPrefix(prefix) }
        case .host(let host):
            let wanted = host.lowercased()
            return { (try? HTTPURL($0))?.host == wanted }
        case .everything: return { _ in true }
        }
    }

    /// A URL as it is stored; what is no URL is stored nowhere.
    private static func normalized(_ url: String) -> String { (try? HTTPURL(url))?.normalized ?? url }
}
