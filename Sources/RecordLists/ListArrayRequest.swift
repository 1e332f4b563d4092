import DiskStore
import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import ImageCache

/// The request for a list's array of ids: for the whole array, or for the changes since the previous one.
struct ListArrayRequest {
    private(set) var request: FileRequest
    /// True if the array has only new, changed and deleted ids.
    private(set) var isPartial = false
    /// True if the request asks for the changes since a date.
    var isAboutDate: Bool { request.changedSince != nil }
    /// True if the response may remain stored and be revalidated by the next request. With ``JSONListSource/usesIfModifiedSince``, the
    /// server would take a revalidation for a request for changes.
    let isKept: Bool

    /// - Parameters:
    ///   - request: The source's request.
    ///   - newest: The newest modification time in the list as JSON, or an empty text.
    init(
        _ request: FileRequest, of source: JSONListSource, _ list: ListState,
        newest: () throws(ImageCacheError) -> String
    )
        throws(ImageCacheError)
    {
        self.request = request
        isKept = !source.usesIfModifiedSince
        self.request.policy = isKept ? .reloadRevalidatingCacheData : .reloadIgnoringLocalCacheData
        if request.url.contains("{since}") {
            isPartial = true
            let since = ListRecord.text(ofModified: try newest()) ?? ""
            self.request.url = request.url.split(separator: "{since}", omittingEmptySubsequences: false).joined(
                separator: PercentEncoding.encodedComponent(since))
        } else if source.usesIfModifiedSince, list.revision > 0, list.validator.hasPrefix(Self.prefix) {
            isPartial = true
            let date = String(list.validator.dropFirst(Self.prefix.count))
            self.request.changedSince = date
            let key = request.key ?? request.url
            self.request.key =
                "\(key)\(key.contains("?") ? "&" : "?")if-modified-since=\(PercentEncoding.encodedComponent(date))"
            self.request.resumes = false
        }
    }

    private static let prefix = "since "

    /// The text that is saved in the list with an array: for requests of changes the date of the array, otherwise the path of the stored
    /// body, which is unique.
    static func note(about file: CachedFile, of source: JSONListSource) -> String {
        guard source.usesIfModifiedSince else { return file.isStored ? file.path : "" }
        if let modified = file.response.fields[.lastModified],
            HTTPDate.parse(modified, now: file.response.responseTime) != nil
        {
            return prefix + modified
        }
        // A change within the second of the response would have the same date, and would be missed.
        guard let date = file.response.fields[.date].flatMap({ HTTPDate.parse($0, now: file.response.responseTime) })
        else {
            return ""
        }
        return prefix + HTTPDate.format(date.addingTimeInterval(-1))
    }
}
