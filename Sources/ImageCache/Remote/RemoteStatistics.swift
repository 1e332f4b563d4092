/// Counts of a cache's remote store, since it was opened.
public struct RemoteStatistics: Sendable, Hashable {
    /// Look-ups that found an object of use: it answered the request, or the origin was asked about it.
    public var hits = 0
    /// Look-ups that found nothing of use, also because they failed.
    public var misses = 0
    /// Look-ups and changes that failed.
    public var errors = 0
    /// Look-ups and changes that were not made because the store had failed, or was slow, before.
    public var skipped = 0
    /// Objects that were not those that had been stored, and were deleted.
    public var damaged = 0
    /// Objects that were uploaded.
    public var uploads = 0
    /// Changes that were dropped: too many waited, the store failed, or the cache was closed.
    public var droppedUploads = 0
    /// Changes that wait.
    public var waitingUploads = 0
    /// False while the store is left alone because it has failed, or was slow.
    public var isAvailable = true
}
