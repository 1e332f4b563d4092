/// The statistics of a cache's remote store since the cache was opened.
public struct RemoteStatistics: Sendable, Hashable {
    /// Look-ups that found a usable object, which was used or revalidated.
    public var hits = 0
    /// Look-ups that found no usable object, including failed ones.
    public var misses = 0
    /// Look-ups and changes that failed.
    public var errors = 0
    /// Look-ups and changes that were skipped because the circuit was open: the store had failed or was slow.
    public var skipped = 0
    /// Leases acquired by this machine, which then contacted the origin for the fleet.
    public var leases = 0
    /// Expired leases of other machines that this machine took over.
    public var leasesTakenOver = 0
    /// Requests that waited for the lease of another machine.
    public var leaseWaits = 0
    /// Look-ups of derived images that found one, which was then neither decoded nor encoded here.
    public var imageHits = 0
    /// Look-ups of derived images that found none, including failed ones.
    public var imageMisses = 0
    /// Published invalidations by this machine.
    public var invalidations = 0
    /// Invalidations that are not yet published because the store fails.
    public var waitingInvalidations = 0
    /// Invalidations that were never published, because there were too many or the cache was closed.
    public var lostInvalidations = 0
    /// Invalidations by other machines that were applied here.
    public var receivedInvalidations = 0
    /// Damaged objects that were deleted.
    public var damaged = 0
    /// Uploaded objects.
    public var uploads = 0
    /// Changes that were dropped because there were too many, the store failed, or the cache was closed.
    public var droppedUploads = 0
    /// Pending changes.
    public var waitingUploads = 0
    /// The total size of the bodies of pending uploads, in bytes.
    public var waitingBytes: Int64 = 0
    /// Requests to the store, and their bytes.
    public var traffic = Traffic()
    /// False while the circuit is open, because the store has failed or was slow.
    public var isAvailable = true
    /// False if the store ignores the conditions of uploads, so that leases are not used; nil if it is not yet known.
    public var honoursConditions: Bool?

    /// Requests to a remote store for any purpose, which its operator charges for.
    public struct Traffic: Sendable, Hashable {
        /// GET and HEAD.
        public var reads = 0
        /// PUT.
        public var writes = 0
        /// Listings of the parts of large bodies, which operators charge like a PUT.
        public var listings = 0
        public var deletions = 0
        /// The number of received content bytes.
        public var bytesRead: Int64 = 0
        /// The number of sent content bytes.
        public var bytesWritten: Int64 = 0
    }
}
