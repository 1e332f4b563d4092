/// The progress of a download. All sizes are in bytes.
public struct DownloadProgress: Sendable, Equatable {
    /// The phase of a download.
    public enum Phase: Sendable, Equatable {
        /// Looks up the stored response, or waits for a free transfer slot.
        case queued
        /// Waits for another process or task that downloads the same key, and takes over if it dies.
        case waitingForOther
        /// Transfers the body.
        case transferring
        /// Waits for the next attempt after a failure.
        case retrying(after: Duration, because: String)
        /// Commits the body to the store.
        case storing
        /// The file is complete. This is the last phase; a failed download ends without it.
        case finished
    }

    public var phase: Phase = .queued
    /// The number of bytes of the body that this and earlier runs received.
    public var received: Int64 = 0
    /// The body's length, if the origin declared it.
    public var total: Int64?
    /// The number of bytes that earlier runs received and that were not fetched again.
    public var resumedFrom: Int64 = 0
    /// True after the response's head was received.
    public var hasResponse = false
    /// The response's `Content-Disposition` field.
    package var contentDisposition: String?

    public init() {}
}
