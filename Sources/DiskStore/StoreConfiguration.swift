public import FoundationEssentials
public import Logging

/// How large the store may grow, how long it keeps what it has begun, and what it takes the time from.
public struct StoreConfiguration: Sendable {
    /// The most that the directory may allocate on disk, in bytes: bodies, partials, folders, index and its log.
    ///
    /// A given capacity is taken as it is, at least ``minimumCapacity``, and the store remembers it.
    /// `nil`, the default: the capacity that the store remembers; before one was ever given 20 GiB, but never more than half of
    /// the free space at opening plus what the store holds.
    public var capacity: Int64?
    /// Whether the store remembers a given ``capacity`` for those that are opened without one; true by default.
    public var remembersCapacity = true
    /// Whether bodies that were committed or opened keep their entries and files until the store is closed, or the process ends,
    /// whatever other processes evict, replace or remove; false by default. What cannot be kept so is refused with
    /// ``StoreError/Code/held``.
    public var holdsBodies = false
    /// How long a body is kept after it was stored, however often it is used or confirmed; `nil`, the default: as long as there is room.
    /// An older one is not found any more; it is the first to be evicted, and deleted by the next sweep.
    public var maxAge: Duration?
    /// The largest body that is stored, in bytes; `nil`, the default: what the capacity allows. A larger one is refused with
    /// ``StoreError/Code/tooLarge``.
    public var maxEntrySize: Int64?
    /// How many bodies are stored; `nil`, the default: what the capacity allows. The commit that exceeds it evicts what is expired,
    /// then the longest unused. What runs hold stays, and counts.
    public var maxEntries: Int?
    /// Bytes of the file system that are left free whatever the capacity allows; 64 MiB by default.
    public var minimumFreeSpace: Int64 = 64 << 20
    /// Idle partials older than this are the first to be dropped; 7 days by default.
    public var partialLifetime: Duration = .seconds(7 * 24 * 3600)
    /// Open without writing anything: look-ups and reads work, everything that changes the store throws
    /// ``StoreError/Code/notWritable``. For directories that cannot be written.
    public var isReadOnly = false
    /// Whether a cache is made where there is none; true by default. Else opening throws ``StoreError/Code/absent`` there.
    public var createsDirectory = true
    /// Gives the dates that are shown to people. Order never depends on it.
    public var clock: @Sendable () -> Date = { Date() }
    /// Tells which start of the machine this is; 0 where that cannot be told.
    package var boot: @Sendable () -> Int64 = { Boot.current }
    /// How long ago the machine was started.
    package var uptime: @Sendable () -> Duration = { Boot.uptime }
    public var logger: Logger
    /// Rewrites what an earlier version stored; `nil`: it stays as it is.
    public var migrator: (any EntryMigrating)?

    public static let defaultCapacity: Int64 = 20 << 30
    public static let minimumCapacity: Int64 = 1 << 20

    public init(capacity: Int64? = nil, logger: Logger = Logger(label: "imgcache.store")) {
        self.capacity = capacity
        self.logger = logger
    }
}
