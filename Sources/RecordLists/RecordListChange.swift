/// An event of a sync.
public enum RecordListChange: Sendable {
    /// New and changed records, which are stored.
    case records([ListRecord])
    /// Ids that the server no longer lists, and whose records were removed.
    case removed([RemovedRecord])
    /// Listed records that the server did not return, and files that could not be downloaded. The next sync retries them.
    case failed([FailedRecord])
    /// The progress of the sync, after each page.
    case progress(RecordListProgress)
    /// The last change: the list is up to date except for failures.
    case finished(RecordListSummary)
}

/// An id that the server no longer lists.
public struct RemovedRecord: Sendable, Hashable, Identifiable {
    public let id: String
    /// True if the id is a JSON number, false if it is a string.
    public let isNumericID: Bool
}

/// An id whose record, or one of whose files, could not be fetched.
public struct FailedRecord: Sendable, Hashable, Identifiable {
    public let id: String
    /// True if the id is a JSON number, false if it is a string.
    public let isNumericID: Bool
    /// The URL of the file that failed; `nil` if the record itself failed.
    public var file: String?
    /// The reason, as a sentence for people.
    public let message: String
}

/// The progress of a sync.
public struct RecordListProgress: Sendable, Hashable {
    /// The number of records stored by this sync.
    public var stored: Int
    /// The number of ids whose records are still to be fetched.
    public var pending: Int
}

/// The totals of a sync.
public struct RecordListSummary: Sendable, Hashable {
    /// The number of stored records.
    public var records = 0
    /// The number of removed ids.
    public var removed = 0
    /// The number of records and files that failed.
    public var failed = 0
    /// The number of ids that are left to the next sync.
    public var pending = 0
    /// True if the array of ids was requested; false if the minimum interval was not over.
    public var askedServer = false
}
