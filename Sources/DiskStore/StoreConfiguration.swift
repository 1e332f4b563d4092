public import FoundationEssentials
public import Logging

/// The configuration of a store: its limits, lifetimes and sources of time.
public struct StoreConfiguration: Sendable {
    /// The limit of the directory's size on disk, in bytes: bodies, partials, folders, index and its log.
    ///
    /// A given capacity is used as it is, at least ``minimumCapacity``, and the store remembers it. `nil`, the default:
    /// the capacity that the store remembers; without one 20 GiB, but never more than half of the free space at opening
    /// plus the store's present size.
    public var capacity: Int64?
    /// True if the store remembers a given ``capacity`` for those that are opened without one; default true.
    public var remembersCapacity = true
    /// True if committed or opened bodies keep their entries and files until the store is closed, or the process ends,
    /// whatever other processes evict, replace or remove; default false. A body that cannot be kept is refused with
    /// `StoreError.Code.held`.
    public var holdsBodies = false
    /// The time a body is kept after it was stored, however often it is used or confirmed; `nil`, the default: as long as there is room.
    /// An older one is not found any more; it is the first to be evicted, and deleted by the next sweep. Pinned ones are kept at any age.
    public var maxAge: Duration?
    /// The largest body that is stored, in bytes; `nil`, the default: what the capacity allows. A larger one is refused with
    /// `StoreError.Code.tooLarge`.
    public var maxEntrySize: Int64?
    /// The largest number of stored bodies. `nil` (default) limits it only by the capacity. The commit that exceeds it evicts expired
    /// bodies, then the least recently used. Bodies held by runs are not evicted, but they count.
    public var maxEntries: Int?
    /// The number of bytes of the file system to leave free regardless of the capacity; default 64 MiB.
    public var minimumFreeSpace: Int64 = 64 << 20
    /// The time without use after which idle partials are dropped before entries; default 7 days. Before that, they are dropped with entries when they
    /// were unused for an hour longer than any entry.
    public var partialLifetime: Duration = .seconds(7 * 24 * 3600)
    /// The time to wait for another process that is changing the store; default 10 seconds. Then the change throws
    /// `StoreError.Code.busy`, and further changes wait no longer until one succeeds. Look-ups and reads do not wait for writers.
    public var busyTimeout: Duration = .seconds(10)
    /// True to replace an index that a newer version made by an empty one; default false: opening throws `StoreError.Code.newer`.
    public var discardsNewer = false
    /// True to open without writing anything: look-ups and reads work, everything that changes the store throws
    /// `StoreError.Code.notWritable`. For directories that cannot be written.
    public var isReadOnly = false
    /// True if a missing cache is created; default true. Otherwise opening throws `StoreError.Code.absent`.
    public var createsDirectory = true
    /// The source of dates for display. Order never depends on it.
    public var clock: @Sendable () -> Date = { Date() }
    /// Identifies the machine's present boot: an odd number; 0 if unknown.
    package var boot: @Sendable () -> Int64 = { Boot.current }
    /// The time since the machine was started.
    package var uptime: @Sendable () -> Duration = { Boot.uptime }
    /// Recognises the file system of a cache directory.
    package var fileSystem: @Sendable (_ path: String) -> FileSystemKind = { FileSystemKind(at: $0) }
    /// Takes warnings about a damaged index, files that cannot be removed and the like. Default label `imgcache.store`.
    public var logger: Logger
    /// Converts entries of an earlier version; `nil` leaves them unchanged.
    package var migrator: (any EntryMigrating)?

    /// 20 GiB, in bytes.
    public static let defaultCapacity: Int64 = 20 << 30
    /// 1 MiB, in bytes.
    public static let minimumCapacity: Int64 = 1 << 20

    public init(capacity: Int64? = nil, logger: Logger = Logger(label: "imgcache.store")) {
        self.capacity = capacity
        self.logger = logger
    }
}
