public import FoundationEssentials

/// The name under which bodies are stored: opaque to the store, already normalised by the caller, compared as text.
public struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    public let value: String

    public init(_ value: String) {
        self.value = value
    }

    public var description: String { value }
}

/// What a caller says of a body that it commits.
public struct NewEntry: Sendable {
    public var key: EntryKey
    /// Tells the variants of one key apart. An entry replaces the one with the same key and variant. What stands before a
    /// line break is the variant's group: see ``DiskStore/entries(for:variant:)``.
    public var variant: String
    /// How many variants the key may have with this one; of more, the longest unused go. No limit by default.
    public var variantLimit = Int.max
    /// The resource, of which there may be several keys: shown in listings, and invalidated as one.
    public var url: String
    /// Opaque bytes that come back with the entry.
    public var metadata: [UInt8]
    /// The generation of the resource that the body was made or asked for in. The commit fails with
    /// ``StoreError/Code/outdated`` when it is no longer current. `nil`: the entry is stored in any case, and changes no generation.
    public var generation: Generation?
    /// When the body is of no use any more: it is expired, and there is no way to have it confirmed. Then it is evicted before all
    /// that is not. `nil`, the default: never.
    public var expires: Date?
    /// The version of the application that the body is for; ``DiskStore/removeVersions(except:)`` removes those of others. `nil`, the
    /// default: for any.
    public var version: String?
    /// Whether the body was made of what the resource's entries hold: then storing it changes nothing of the resource.
    public var isDerived: Bool

    public init(
        key: EntryKey, variant: String = "", url: String, metadata: [UInt8], generation: Generation? = nil,
        isDerived: Bool = false
    ) {
        self.key = key
        self.variant = variant
        self.url = url
        self.metadata = metadata
        self.generation = generation
        self.isDerived = isDerived
    }
}

/// A complete body's row in the index. A value: it says what was true when it was read.
public struct StoredEntry: Sendable, Identifiable, Equatable {
    /// The body's number; never used twice in one directory.
    public let id: Int64
    public let key: EntryKey
    public let variant: String
    public let url: String
    /// The body's length in bytes.
    public let size: Int64
    /// What the body occupies on disk, in bytes.
    public let allocated: Int64
    public let metadata: [UInt8]
    public let created: Date
    /// When it was last used, for people; nil from a look-up that left it out. Eviction goes by ``accessSequence``.
    public let lastAccess: Date?
    /// Ascending with every use of any entry, whatever the clock did; nil from a look-up that left it out.
    public let accessSequence: Int64?
    /// XXH3-128 over the length and the XXH3-128 of each 256 KiB block.
    let checksum: Checksum
    /// The boot during which the body was last known to match its checksum.
    let boot: Int64
}
