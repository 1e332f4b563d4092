import HTTPSemantics
public import ImageCache
public import JSONParsing

/// A server's list as JSON: one request for the array of ids, and requests for pages of records.
///
/// The array is `[1, 2, …]`, `["a", …]` or `[{"id": …, "modified": …}, …]`, newest first. A page is an array of objects with an `id`, or an
/// object whose member names are the ids.
///
///     let source = JSONListSource(
///         ids: "https://api.example/inbox/ids",
///         page: { ids in FileRequest("https://api.example/inbox?ids=\(ids.joined(separator: ","))") })
public struct JSONListSource: Sendable {
    /// The request for the array of ids. The array is revalidated by `ETag` or `Last-Modified` (RFC 9110 section 13); 304, 204 and an empty
    /// body mean that nothing has changed.
    ///
    /// In the URL, `{since}` is replaced with the newest modification time in the list, or with nothing before the first sync. The server
    /// must then return only new and changed ids; elements with `"deleted": true` are removed.
    public var ids: FileRequest

    /// True if the server answers `If-Modified-Since` (RFC 9110 section 13.1.3) in the request for the array with only the ids that have
    /// changed since. Elements with `"deleted": true` are removed. Default false.
    ///
    /// The first request asks for the whole array. The date is the `Last-Modified` of the previous array, or a second before its `Date`. Do
    /// not set this for a server that returns the whole array: removed ids would never be removed here.
    public var usesIfModifiedSince = false

    /// The request for the records of some ids. It must depend on the ids only, as the same id may be requested again in another page.
    public var page: @Sendable (_ ids: [String]) -> FileRequest

    /// The number of ids in one request. Default 100.
    public var pageSize = 100

    /// The number of pages that are fetched in parallel. Default 4.
    public var pagesAtOnce = 4

    /// The minimum time between two requests for the array. Default 5 minutes. Measured by the wall clock; if the clock was set back, the
    /// array is requested.
    public var minimumInterval = Duration.seconds(300)

    /// The number of attempts in one sync to get an id's record, if its page lacks it. Default 3.
    public var attempts = 3

    /// The delay before the second attempt; it doubles with each further one, up to a minute. Default 1 second.
    public var retryDelay = Duration.seconds(1)

    /// The limit of a page's size in bytes. Default 64 MiB.
    public var maxPageSize: Int64 = 64 << 20

    /// Splits a page that is not JSON into records with their ids. Default: none.
    ///
    /// An error that this closure throws ends the sync with the code `wrongBytes`. ``ListRecord/decoded(as:by:)``,
    /// ``ListRecord/json``, ``sortKey`` and pointers require records in JSON.
    public var records: (@Sendable (_ page: [UInt8]) throws -> [(id: String, body: [UInt8])])?

    /// The location of the key in a record that ``RecordOrder/key`` sorts by: a number or a string. Default: none.
    public var sortKey: JSONPointer?

    /// The files that a record names. They are downloaded with background priority, and pinned until the record is removed. Default: none.
    public var files: (@Sendable (_ record: ListRecord) -> [FileRequest])?

    /// - Parameters:
    ///   - ids: The request for the array of ids.
    ///   - page: The request for the records of some ids.
    public init(ids: FileRequest, page: @escaping @Sendable (_ ids: [String]) -> FileRequest) {
        self.ids = ids
        self.page = page
    }

    /// Returns a closure for ``files`` that finds the URLs at some locations of a record. A location may have a string or an array of
    /// strings.
    ///
    /// - Parameters:
    ///   - pointers: The locations.
    ///   - base: The URL against which relative references are resolved.
    public static func files(
        at pointers: [JSONPointer], relativeTo base: String
    ) -> @Sendable (_ record: ListRecord) -> [FileRequest] {
        let base = try? HTTPURL(base)
        return { record in
            pointers.flatMap { pointer -> [FileRequest] in
                guard let value = pointer.value(in: record.body) else { return [] }
                let values = JSONText.elements(value) ?? [value]
                return values.compactMap(JSONText.string).filter { !$0.isEmpty }.map { text in
                    let url = base.flatMap { try? HTTPURL(reference: text, relativeTo: $0) }
                    return FileRequest(url?.normalized ?? text)
                }
            }
        }
    }
}
