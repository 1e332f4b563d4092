import ImageCache
import Units

/// A partial download as displayed by `ls --partials` and `info`. Sizes are in bytes, dates ISO 8601 in UTC.
struct PartialReport: Encodable {
    var url: String
    /// The owner; absent if there is none.
    var namespace: String?
    var received: Int64
    var total: Int64?
    /// True if `fetch URL` resumes it; otherwise only `fetch --sha256 HEX URL` does.
    var isResumable: Bool
    var isInUse: Bool
    var etag: String?
    var lastModified: String?
    var finalURL: String?
    var lastUsed: String

    private enum CodingKeys: String, CodingKey {
        case url, namespace, received, total, etag
        case isResumable = "resumable"
        case isInUse = "in_use"
        case lastModified = "last_modified"
        case finalURL = "final_url"
        case lastUsed = "last_used"
    }

    init(_ partial: CachePartial) {
        url = partial.url
        namespace = partial.namespace
        received = partial.received
        total = partial.total
        isResumable = partial.hasValidator
        isInUse = partial.isInUse
        etag = partial.record?.response.fields[.eTag]
        lastModified = partial.record?.response.fields[.lastModified]
        finalURL = partial.record?.finalURL
        lastUsed = EntryReport.iso(partial.lastUsed)
    }

    /// The received bytes and the length.
    var amount: String {
        guard let total else { return "\(ByteSize(received)) of unknown" }
        let percent = ProgressLine.percent(received, of: max(total, 1))
        return "\(ByteSize(received)) of \(ByteSize(total)) (\(percent) %)"
    }
}
