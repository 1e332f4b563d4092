package import ConcurrencyPrimitives
package import DiskStore
package import Transfer

/// A store that machines share, between the disk and the origin: the seam to the module `Fleet`.
///
/// A fetch that finds nothing on disk lets the tier find the response, and lets it share the response of the origin (``TierFetch``). A removal
/// also invalidates in the tier, and images that were rendered here are shared.
///
/// A failure of the tier fails no request: the origin is asked instead.
package protocol SharedTier: Sendable {
    /// The tier's part in a fetch that begins.
    func join(_ fetch: FetchAccess) -> any TierFetch

    /// Invalidates a resource on all machines. Called before the removal on this one, so that concurrent requests do not use the tier.
    ///
    /// - Parameters:
    ///   - keys: The keys whose responses are deleted.
    ///   - allOwners: False for the shared namespace only.
    func invalidate(_ keys: [EntryKey], url: String, allOwners: Bool)

    /// Invalidates several resources on all machines: those of a prefix or a host, or all. Has no effect for other targets.
    func invalidate(_ target: RemovalTarget)

    /// True if images derived from a file may be shared with other machines.
    func mayShareImages(of file: CachedFile, _ resolved: ResolvedRequest) -> Bool

    /// A verified image that another machine has rendered; `nil` if there is none, or it cannot be read.
    ///
    /// - Parameters:
    ///   - key: The key of the original.
    ///   - original: The SHA-256 of the original's bytes.
    ///   - recipe: ``ImageRecipe/text(decoder:)``
    func image(
        of key: EntryKey, original: [UInt8], recipe: String
    ) async -> (record: DerivedImageRecord, bytes: [UInt8])?

    /// Shares an image in the background, if the original's generation is then still current.
    func share(
        _ image: (record: DerivedImageRecord, bytes: [UInt8]), of key: EntryKey, original: [UInt8], recipe: String,
        in generation: Generation)

    /// Makes the pending changes within a time, drops the rest, and shuts down.
    func close(within time: Duration) async
}

/// The settings of a tier (``DownloadCache/Configuration/tier``).
package protocol SharedTierConfiguration: Sendable {
    /// Opens the tier of a cache.
    func opened(
        over store: DiskStore, for cache: DownloadCache.Configuration, on executor: BlockingExecutor
    ) -> any SharedTier
}

/// A tier's part in one fetch.
package protocol TierFetch: Sendable {
    /// True if the policy of the request allows the use or revalidation of a shared response.
    var mayFind: Bool { get }

    /// Stores a shared response on disk with the times of its original request and response, as if this machine had requested it. The caching
    /// rules then apply as to any entry. May wait for another machine that asks the origin.
    ///
    /// - Throws: `.cancelled` only.
    func find(in generation: Generation) async throws(ImageCacheError) -> TierFinding

    /// Counts a look-up: true if its result was used.
    func noteLookUp(_ isHit: Bool)

    /// Notes that the origin is asked from now on.
    func beginOrigin()

    /// The sharing of a body while it arrives; `nil` if the request does not allow it.
    ///
    /// - Parameter key: The key that the body is stored under.
    func sharing(under key: EntryKey, _ epoch: Generation.Epoch) -> (any TierBody)?

    /// Shares the outcome of the fetch, if the origin sent or confirmed it.
    func end(with file: CachedFile?, _ failure: ImageCacheError?)
}

/// The result of a look-up in a tier.
package struct TierFinding: Sendable {
    /// The number of the entry that was stored from the tier.
    package var entry: Int64?
    /// True if the tier was contacted.
    package var wasAsked = false
    /// True if parts of the body were stored from the tier.
    package var hasParts = false

    package init() {}
}

/// Observes a body while it is received, and shares each part of it that is on disk.
///
/// Not thread-safe: used like the sink that owns it, by one thread at a time.
package protocol TierBody: AnyObject {
    /// Begins or resumes a body.
    ///
    /// - Parameter joinsOther: True if the held bytes came from another resource, such as a mirror. Only the digest of the whole body proves
    ///   such a body, so it is not shared.
    func begin(_ record: ResponseRecord, _ placement: BodyPlacement, _ writer: BodyWriter, joinsOther: Bool)

    /// Records further bytes of the stream.
    func wrote(_ count: Int, _ writer: BodyWriter)

    /// Records received bytes of a range.
    func wrote(_ range: Range<Int64>, _ writer: BodyWriter)

    /// The offset before which additional connections begin and end; `nil` without a limit.
    func segmentLimit(_ writer: BodyWriter) -> Int64?

    /// Ends the sharing, because the next bytes belong to another body.
    func end()
}
