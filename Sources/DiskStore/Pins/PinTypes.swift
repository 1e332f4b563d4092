/// Something that is to stay in the store.
package struct NewPin: Sendable, Equatable {
    package var key: EntryKey
    /// The URL as it is shown.
    package var url: String
    /// The caller's request, for a process that resumes it.
    package var request: [UInt8]
    /// The body's length, where it is known before the download.
    package var size: Int64?

    package init(key: EntryKey, url: String, request: [UInt8], size: Int64? = nil) {
        self.key = key
        self.url = url
        self.request = request
        self.size = size
    }
}

/// A set of pins by its name, and what holds for all of it.
package struct NewPinSet: Sendable {
    package var owner: String
    package var name: String
    /// In seconds; -1: none.
    package var maxStale: Int64
    /// In seconds; -1: none.
    package var interval: Int64

    package init(owner: String, name: String, maxStale: Int64 = -1, interval: Int64 = -1) {
        self.owner = owner
        self.name = name
        self.maxStale = maxStale
        self.interval = interval
    }
}

/// A set's row, and how much of it is there.
package struct PinSetState: Sendable, Equatable {
    package let set: Int64
    package let owner: String
    package let name: String
    /// The list whose records name the members; 0: none.
    package let list: Int64
    package let maxStale: Int64
    package let interval: Int64
    /// Not all of it was there yet.
    package let isNew: Bool
    package var total: Int64 = 0
    package var present: Int64 = 0
    /// The lengths of the bodies that are there.
    package var bytes: Int64 = 0
    /// The number of bytes that they occupy on disk.
    package var allocated: Int64 = 0
    /// When that member was downloaded or confirmed that has waited longest for it since, in milliseconds since 1970; 0: none was.
    package var oldestCheck: Int64 = 0
}

/// A member of a set.
package struct PinMember: Sendable, Equatable {
    package let pin: Int64
    package let key: EntryKey
    package let url: String
    package let request: [UInt8]
    /// When it was last downloaded or confirmed, in milliseconds since 1970; 0: never.
    package let checked: Int64
    /// The error message of the last attempt; empty if it succeeded.
    package let error: String
    package let isPresent: Bool
    /// The record that names it; empty in a named set.
    package let record: String
}
