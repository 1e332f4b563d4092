package import FoundationEssentials

/// The state of a key, by the store's own clock. Two times of one store are comparable, whatever the machines' clocks show.
package struct RemoteReading: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        /// There is no object.
        case absent
        /// The object still has the given tag.
        case unchanged
        case object([UInt8])
    }

    package var content: Content
    /// The object's entity tag, exactly as the store sent it.
    package var tag: String?
    /// The time at which the object was stored (`Last-Modified`), in whole seconds.
    package var modified: Date?
    /// The time of the response (`Date`), in whole seconds.
    package var storeTime: Date?

    package init(_ content: Content, tag: String? = nil, modified: Date? = nil, storeTime: Date? = nil) {
        self.content = content
        self.tag = tag
        self.modified = modified
        self.storeTime = storeTime
    }

    /// The object's bytes, or nil if it is absent or unchanged.
    package var bytes: [UInt8]? { if case .object(let bytes) = content { bytes } else { nil } }

    /// The time since the object was stored, to a second, or nil if the store does not report it.
    package var age: Duration? {
        guard let modified, let storeTime else { return nil }
        return .seconds(storeTime.timeIntervalSince(modified))
    }
}
