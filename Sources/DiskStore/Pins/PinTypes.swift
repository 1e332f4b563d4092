/// A resource that must stay in the store.
package struct NewPin: Sendable, Equatable {
    package var key: EntryKey
    /// The URL that is shown to users.
    package var url: String
    /// The caller's request, for a process that resumes it.
    package var request: [UInt8]
    /// The body's length in bytes, if it is known before the download.
    package var size: Int64?

    package init(key: EntryKey, url: String, request: [UInt8], size: Int64? = nil) {
        self.key = key
        self.url = url
        self.request = request
        self.size = size
    }
}

/// The name and the settings of a set of pins.
package struct NewPinSet: Sendable {
    package var owner: String
    package var name: String
    /// The number of seconds for which entries may be stale; -1 for none.
    package var maxStale: Int64
    /// The number of seconds between two refreshes of the set; -1 for none.
    package var interval: Int64

    package init(owner: String, name: String, maxStale: Int64 = -1, interval: Int64 = -1) {
        self.owner = owner
        self.name = name
        self.maxStale = maxStale
        self.interval = interval
    }
}

/// The row of a set, and the amount of it that is stored.
package struct PinSetState: Sendable, Equatable {
    package let set: Int64
    package let owner: String
    package let name: String
    /// The list whose records name the members; 0 for none.
    package let list: Int64
    package let maxStale: Int64
    package let interval: Int64
    /// True until all members were stored once.
    package let isNew: Bool
    package var total: Int64 = 0
    package var present: Int64 = 0
    /// The sum of the lengths of the stored bodies, in bytes.
    package var bytes: Int64 = 0
    /// The number of bytes that they occupy on disk.
    package var allocated: Int64 = 0
    /// The time of the download or confirmation that is oldest among the members, in milliseconds since 1970; 0 if there was none.
    package var oldestCheck: Int64 = 0
}

/// A member of a set.
package struct PinMember: Sendable, Equatable {
    package let pin: Int64
    package let key: EntryKey
    package let url: String
    package let request: [UInt8]
    /// The time of the last download or confirmation, in milliseconds since 1970; 0 for never.
    package let checked: Int64
    /// The error message of the last attempt; empty if it succeeded.
    package let error: String
    package let isPresent: Bool
    /// The record that names the member; empty in a named set.
    package let record: String
}
