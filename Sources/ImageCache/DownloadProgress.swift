/// The progress of a download. Sizes are bytes.
public struct DownloadProgress: Sendable, Equatable {
    /// The step that a download is in.
    public enum Phase: Sendable, Equatable {
        /// Looks in the store, or waits for a free transfer slot.
        case queued
        /// Waits for another process or task that downloads the same key, and takes over if that one dies.
        case waitingForOther
        /// Transfers the body.
        case transferring
        /// Waits after a failed attempt; the next one starts after the delay.
        case retrying(after: Duration, because: String)
        /// Commits the complete body to the store.
        case storing
        /// The file is there, from the origin or the store: the last value. A download that fails ends without it.
        case finished
    }

    public var phase: Phase = .queued
    /// Bytes of the body received, those of earlier runs included.
    public var received: Int64 = 0
    /// The body's length, if the origin declared it.
    public var total: Int64?
    /// Bytes received by earlier runs and not fetched again.
    public var resumedFrom: Int64 = 0
    /// True once the response's head is known.
    public var hasResponse = false
    /// The response's field Content-Disposition.
    package var contentDisposition: String?

    public init() {}
}
