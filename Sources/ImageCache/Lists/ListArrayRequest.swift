import DiskStore
import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// The request for a list's array of ids: for all of it, or for what changed since the array before.
struct ListArrayRequest {
    private(set) var request: FileRequest
    /// The array has only what is new, changed or deleted.
    private(set) var isPartial = false
    /// The response is about a date, and not about the resource.
    var isAboutDate: Bool { request.changedSince != nil }
    /// The response may stay in the store, to be validated by the next request. Of a server that takes `If-Modified-Since` as the question
    /// what changed none may: it would answer the validation so.
    let isKept: Bool

    /// - Parameters:
    ///   - request: The source's request.
    ///   - newest: The newest modification time that the list has, as JSON; empty: none.
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

    /// The note about an array that is kept with it: for the question what changed since, its date; otherwise the path, which names the very
    /// body.
    static func note(about file: CachedFile, of source: JSONListSource) -> String {
        guard source.usesIfModifiedSince else { return file.isStored ? file.path : "" }
        if let modified = file.response.fields[.lastModified],
            HTTPDate.parse(modified, now: file.response.responseTime) != nil
        {
            return prefix + modified
        }
        // A change in the second of the response would have its date, and be missed.
        guard let date = file.response.fields[.date].flatMap({ HTTPDate.parse($0, now: file.response.responseTime) })
        else {
            return ""
        }
        return prefix + HTTPDate.format(date.addingTimeInterval(-1))
    }
}
