/// How far a download is. Sizes are bytes.
public struct DownloadProgress: Sendable, Equatable {
    /// What is going on.
    public enum Phase: Sendable, Equatable {
        /// Looking in the store, or waiting for a free transfer slot.
        case queued
        /// Another process or task downloads the same key; this one waits and takes over if that one dies.
        case waitingForOther
        /// A request is under way.
        case transferring
        /// The last attempt failed; the next one starts after the delay.
        case retrying(after: Duration, because: String)
        /// The body is whole and enters the store.
        case storing
    }

    public var phase: Phase = .queued
    /// Bytes of the body that are here, those from earlier runs included.
    public var received: Int64 = 0
    /// The body's length, when the origin said it.
    public var total: Int64?
    /// Bytes that earlier runs left behind and that were not fetched again.
    public var resumedFrom: Int64 = 0
    /// The final URL's `Content-Disposition` and the like are known from here on.
    public var hasResponse = false

    public init() {}
}
