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
    /// Leases that this machine got: it asked the origin for the fleet.
    public var leases = 0
    /// Leases of other machines that had not renewed them, and that this one took over.
    public var leasesTakenOver = 0
    /// Requests that waited for another machine's lease.
    public var leaseWaits = 0
    /// Look-ups of derived images that found one: it was neither decoded nor encoded here.
    public var imageHits = 0
    /// Look-ups of derived images that found none, also because they failed.
    public var imageMisses = 0
    /// Invalidations by this machine that the fleet was told.
    public var invalidations = 0
    /// Those that wait to be told, because the store fails.
    public var waitingInvalidations = 0
    /// Those that were never told: too many waited, or the cache was closed.
    public var lostInvalidations = 0
    /// Invalidations by other machines that were carried out here.
    public var receivedInvalidations = 0
    /// Objects that were not those that had been stored, and were deleted.
    public var damaged = 0
    /// Objects that were uploaded.
    public var uploads = 0
    /// Changes that were dropped: too many waited, the store failed, or the cache was closed.
    public var droppedUploads = 0
    /// Changes that wait.
    public var waitingUploads = 0
    /// Bytes of bodies that wait to be uploaded.
    public var waitingBytes: Int64 = 0
    /// Requests to the store, and their bytes.
    public var traffic = Traffic()
    /// False while the store is left alone because it has failed, or was slow.
    public var isAvailable = true
    /// False if the store ignores conditions of uploads, so that there are no leases; nil: not known yet.
    public var honoursConditions: Bool?

    /// Requests to a remote store, for whatever purpose: what its operator charges for.
    public struct Traffic: Sendable, Hashable {
        /// GET and HEAD.
        public var reads = 0
        /// PUT.
        public var writes = 0
        /// Listings of the parts of large bodies, for which operators charge as for a PUT.
        public var listings = 0
        public var deletions = 0
        /// Bytes of content received.
        public var bytesRead: Int64 = 0
        /// Bytes of content sent.
        public var bytesWritten: Int64 = 0
    }
}
