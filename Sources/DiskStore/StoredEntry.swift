package import FoundationEssentials
package import TextIdentity

/// The key of stored bodies: opaque to the store, normalised by the caller, compared by its bytes.
package struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    @ByteText package private(set) var value: String

    package init(_ value: String) {
        _value = value.asBytes
    }

    package var description: String { value }
}

/// The properties of a body to be committed.
package struct NewEntry: Sendable {
    package var key: EntryKey
    /// Distinguishes the variants of one key. An entry replaces the one with the same key and variant. The part before
    /// a line break is the variant's group: see ``DiskStore/entries(for:variant:)``.
    package var variant: String
    /// The number of variants that the key may have, this one included; the least recently used of more are removed. No
    /// limit by default.
    package var variantLimit = Int.max
    /// The resource, which may have several keys: shown in listings, and invalidated as a unit.
    package var url: String
    /// Opaque bytes stored with the entry.
    package var metadata: [UInt8]
    /// The generation of the resource in which the body was made or requested. The commit fails with
    /// ``StoreError/Code/outdated`` if it is no longer current. `nil`: the entry is stored in any case, and changes no
    /// generation.
    package var generation: Generation?
    /// The time from which the body is useless: it is expired, and cannot be confirmed. Then it is evicted before all others.
    /// `nil`, the default: never.
    package var expires: Date?
    /// The version of the application that the body is for, or `nil` (default) for any. ``DiskStore/removeVersions(except:)`` removes the
    /// bodies of other versions.
    package var version: String?
    /// The format of the value that the body is; ``DiskStore/removeFormats(except:)`` removes the other versions of its type. `nil`,
    /// the default: it is not a value, or its format has no version.
    package var format: ValueFormat?
    /// The body's SHA-256, where it was verified. `nil`, the default: not known.
    package var sha256: [UInt8]?
    /// True if a later writer of ``key`` could continue the body after a part of it was damaged. The checksums of its blocks are then kept.
    /// False by default.
    package var isResumable = false
    /// True if the body was derived from the resource's entries: storing it then does not change the resource.
    package var isDerived: Bool

    package init(
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

/// The format of a stored value: its type, and the version of how that is written.
package struct ValueFormat: Sendable, Hashable {
    /// The type's name, equal in all processes.
    @ByteText package var type: String
    @ByteText package var version: String

    package init(type: String, version: String) {
        _type = type.asBytes
        _version = version.asBytes
    }
}

/// A complete body's row in the index. A value: valid for the moment at which it was read.
package struct StoredEntry: Sendable, Identifiable, Equatable {
    /// The body's number; never used twice in one directory.
    package let id: Int64
    package let key: EntryKey
    package let variant: String
    package let url: String
    /// The body's length in bytes.
    package let size: Int64
    /// The space that the body occupies on disk, in bytes.
    package let allocated: Int64
    package let metadata: [UInt8]
    package let created: Date
    /// The time of last use, for display; nil from a look-up without it. Eviction uses ``accessSequence``.
    package let lastAccess: Date?
    /// Increases with every use of any entry, independently of the clock; nil from a look-up without it.
    package let accessSequence: Int64?
    /// XXH3-128 over the length and the XXH3-128 of each 256 KiB block.
    let checksum: Checksum
    /// The boot during which the body last matched its checksum: a ``CheckMark``.
    let boot: Int64
}
