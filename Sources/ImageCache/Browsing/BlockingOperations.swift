package import DiskStore

/// The operations of a cache that block the calling thread while they wait for the disk, for a command that has nothing else to do.
package struct BlockingOperations: Sendable {
    let cache: DownloadCache

    package var store: DiskStore { cache.fetcher.store }
}

extension DownloadCache {
    package var blocking: BlockingOperations { BlockingOperations(cache: self) }
}

extension BlockingOperations {
    /// The file for a request if it is stored and may be used without contacting the origin.
    package func storedFile(for request: FileRequest) throws(ImageCacheError) -> CachedFile? {
        do throws(ImageCacheError) {
            return try cache.fetcher.stored(request)
        } catch {
            throw error.with(url: request.url)
        }
    }

    /// Looks up several requests in one transaction of the index.
    ///
    /// - Returns: The outcomes in the order of the requests.
    package func lookUp(_ requests: [FileRequest]) -> [BatchLookup] {
        (try? cache.fetcher.lookUp(requests)) ?? requests.map { _ in BatchLookup() }
    }

    /// Calls `body` with each entry in order.
    package func forEachEntry(
        by order: EntryOrder = .age, descending: Bool = false, _ body: (CacheEntry) throws -> Void
    ) throws(ImageCacheError) {
        try translating {
            try store.list(by: order, descending: descending) { entry in
                try body(CacheEntry(entry, in: store))
                return true
            }
        }
    }

    /// The entries and the partial of a URL.
    package func info(for request: FileRequest) throws(ImageCacheError) -> CacheInfo {
        let resolved = try ResolvedRequest(request, by: cache.fetcher.rules)
        return try translating {
            let equivalent = try Set(
                cache.fetcher.equivalentCandidates(resolved, isNecessary: true).map(\.entry.id))
            let stored =
                try store.entries(for: resolved.key, withAccess: true)
                + store.entries(for: EntryKey(resolved.requestKey.noVarySearch), withAccess: true).filter {
                    equivalent.contains($0.id)
                }
            let entries = stored.map { CacheEntry($0, in: store) }
            return CacheInfo(entries: entries, partial: try store.partial(for: resolved.key).map(CachePartial.init))
        }
    }

    /// The partial downloads, the longest idle first.
    package func partials() throws(ImageCacheError) -> [CachePartial] {
        try translating { try store.partials().map(CachePartial.init) }
    }

    package func statistics() throws(ImageCacheError) -> StoreStatistics { try translating { try store.statistics() } }

    /// Checks the length and the checksum of each body.
    ///
    /// - Parameters:
    ///   - repair: True to remove damaged entries. Their intact blocks are kept as partials, if possible.
    ///   - report: Called with each entry, and with the number of intact bytes that were kept.
    package func verify(
        repair: Bool = false, _ report: (CacheEntry, EntryIntegrity, Int64?) -> Void = { _, _, _ in }
    ) throws(ImageCacheError) -> VerifyResult {
        try translating {
            try store.verify(repair: repair) { entry, integrity, kept in
                report(CacheEntry(entry, in: store), integrity, kept)
                return true
            }
        }
    }

    /// Examines the store without changing it.
    package func diagnose() throws(ImageCacheError) -> StoreDiagnosis { try translating { try store.diagnose() } }

    /// Writes pending access dates.
    package func flush() throws(ImageCacheError) { try translating { try store.flush() } }

    package func translating<Result>(_ body: () throws -> Result) throws(ImageCacheError) -> Result {
        do { return try body() } catch { throw ImageCacheError(any: error) }
    }
}

extension ImageCacheError {
    /// Translates an error of a module, or of a closure of the caller.
    package init(any error: any Error) {
        switch error {
        case let error as StoreError: self.init(error)
        case let error as ImageCacheError: self = error
        case is CancellationError: self.init(.cancelled, message: "cancelled", cause: error)
        default: self.init(.store(.io), message: "\(error)", cause: error)
        }
    }
}
