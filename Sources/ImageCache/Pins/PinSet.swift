/// The state of a set of pins: its members, and those that are stored.
public struct PinSet: Sendable {
    /// The set's name; of the files of a ``RecordList``, the list's, behind its group's and `/` if it has one.
    public var name: String
    /// Whose it is.
    public var owner: String?
    /// It has the files that the records of a list name.
    public var isOfList: Bool
    /// The members.
    public var total: Int
    /// The members that are stored.
    public var present: Int
    /// The lengths of the stored members together, in bytes.
    public var bytes: Int64
    /// The number of bytes that they occupy on disk.
    public var allocatedBytes: Int64
    /// The members that failed when they were last tried.
    public var failed: [Failure]

    /// A member that failed.
    public struct Failure: Sendable {
        /// The URL, without userinfo.
        public var url: String
        /// One sentence that a person can act on.
        public var message: String
        /// The error, when it happened in this very call.
        public var error: ImageCacheError?
    }

    /// All members are there.
    public var isComplete: Bool { present == total }
}

/// The options of all members of a set of pins.
public struct PinOptions: Sendable, Hashable {
    /// For how long a member may have been stale and be served all the same when the origin cannot be reached. Default: as the
    /// server's fields allow.
    public var maxStale: Duration?
    /// Members that were downloaded or confirmed longer ago are confirmed, by every process that
    /// keeps pins (``DownloadCache/Configuration/keepsPins``). Default: never.
    public var refreshInterval: Duration?

    public init(maxStale: Duration? = nil, refreshInterval: Duration? = nil) {
        self.maxStale = maxStale
        self.refreshInterval = refreshInterval
    }
}
