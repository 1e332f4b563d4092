package import FoundationEssentials

/// The state of a key, by the store's own clock: two times of one store compare, whatever the clocks of the machines say.
package struct RemoteReading: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        /// There is no object.
        case absent
        /// The object is the one with the tag that was given.
        case unchanged
        case object([UInt8])
    }

    package var content: Content
    /// The object's entity tag, as the store writes it.
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

    /// The object's bytes; nil: it is absent, or unchanged.
    package var bytes: [UInt8]? { if case .object(let bytes) = content { bytes } else { nil } }

    /// The time since the object was stored, to a second; nil: the store does not tell.
    package var age: Duration? {
        guard let modified, let storeTime else { return nil }
        return .seconds(storeTime.timeIntervalSince(modified))
    }
}
