/// An event of a sync.
public enum RecordListChange: Sendable {
    /// Records that are new or changed, and stored.
    case records([ListRecord])
    /// Ids that the server lists no longer; their records are gone.
    case removed([RemovedRecord])
    /// Records that the server lists and does not bring, and files that could not be downloaded. They are tried again by the next
    /// sync.
    case failed([FailedRecord])
    /// The progress of the sync; after each page.
    case progress(RecordListProgress)
    /// The list is in step with the server, but for what failed. The last change of a sync.
    case finished(RecordListSummary)
}

/// An id that the server lists no longer.
public struct RemovedRecord: Sendable, Hashable, Identifiable {
    public let id: String
    /// The id is a JSON number, and not a string.
    public let isNumericID: Bool
}

/// An id whose record, or a file of it, did not come.
public struct FailedRecord: Sendable, Hashable, Identifiable {
    public let id: String
    /// The id is a JSON number, and not a string.
    public let isNumericID: Bool
    /// The URL of the record's file that failed; `nil`: the record itself.
    public var file: String?
    /// One sentence that a person can act on.
    public let message: String
}

/// The progress of a sync.
public struct RecordListProgress: Sendable, Hashable {
    /// Records stored by this sync.
    public var stored: Int
    /// Ids whose records are still to come.
    public var pending: Int
}

/// The totals of a sync.
public struct RecordListSummary: Sendable, Hashable {
    /// Records that were stored.
    public var records = 0
    /// Ids that were removed.
    public var removed = 0
    /// Ids whose record did not come, and files that failed.
    public var failed = 0
    /// Ids that wait for the next sync.
    public var pending = 0
    /// The array of ids was asked for: else the minimum interval had not passed.
    public var askedServer = false
}
