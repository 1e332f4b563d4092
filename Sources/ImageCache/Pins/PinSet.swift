/// The state of a set of pins.
public struct PinSet: Sendable {
    /// The set's name. For the files of a list of records: the list's name, behind `GROUP/` if it has a group.
    public var name: String
    /// The set's owner.
    public var owner: String?
    /// True for the set of the files that the records of a list name.
    public var isOfList: Bool
    /// The number of members.
    public var total: Int
    /// The number of stored members.
    public var present: Int
    /// The total length of the stored members in bytes.
    public var bytes: Int64
    /// The space that the stored members occupy on disk, in bytes.
    public var allocatedBytes: Int64
    /// The members whose last attempt failed.
    public var failed: [Failure]

    /// A member that failed.
    public struct Failure: Sendable {
        /// The URL, without userinfo.
        public var url: String
        /// The reason, as a sentence for people.
        public var message: String
        /// The error, if the attempt was made by the call that returned this set.
        public var error: ImageCacheError?
    }

    /// True if all members are stored.
    public var isComplete: Bool { present == total }
}

/// The options of all members of a set of pins.
public struct PinOptions: Sendable, Hashable {
    /// The time after it became stale for which a member may be served while the origin is unreachable. Default: as the response's fields
    /// allow.
    public var maxStale: Duration?
    /// The age after which a member is revalidated, by any process that keeps pins (``DownloadCache/Configuration/keepsPins``). Default:
    /// never.
    public var refreshInterval: Duration?

    public init(maxStale: Duration? = nil, refreshInterval: Duration? = nil) {
        self.maxStale = maxStale
        self.refreshInterval = refreshInterval
    }
}
