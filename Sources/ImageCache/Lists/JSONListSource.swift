import HTTPSemantics

/// A server's list as JSON: one request for the array of ids, others for the records of some of them.
///
/// The array is `[1, 2, …]`, `["a", …]` or `[{"id": …, "modified": …}, …]`, the newest first. A page is an array of objects with an
/// `id`, or an object whose names are the ids.
///
///     let source = JSONListSource(
///         ids: "https://api.example/inbox/ids",
///         page: { ids in FileRequest("https://api.example/inbox?ids=\(ids.joined(separator: ","))") })
public struct JSONListSource: Sendable {
    /// The request for the array of ids. It is validated by `ETag` or `Last-Modified` (RFC 9110 section 13); 304, 204 and an empty
    /// body mean that nothing has changed.
    ///
    /// Where the URL has `{since}`, the server is asked for what changed: the newest modification time that the list has stands there,
    /// nothing before the first sync. Such an array has new and changed ids only; an element with `"deleted": true` is removed.
    public var ids: FileRequest

    /// True if the server takes `If-Modified-Since` (RFC 9110 section 13.1.3) in the request for the array as the question what changed
    /// since: such a response has new and changed ids only, and those with `"deleted": true`, which are removed. Default false.
    ///
    /// The first array is asked for as a whole. The date is the `Last-Modified` of the array taken over last, or else a second before its
    /// `Date`. Of a server that answers with the whole array nothing would ever be removed.
    public var usesIfModifiedSince = false

    /// The request for the records of some ids. It does not depend on anything else: a page is asked for again with other ids.
    public var page: @Sendable (_ ids: [String]) -> FileRequest

    /// Ids in one request. Default 100.
    public var pageSize = 100

    /// Pages fetched at a time. Default 4.
    public var pagesAtOnce = 4

    /// The array is fetched at most once in this time. Default 5 minutes. By the wall clock: after a step backwards it is fetched.
    public var minimumInterval = Duration.seconds(300)

    /// The number of times that one sync asks for an id while its page does not bring it. Default 3.
    public var attempts = 3

    /// The time before the second attempt; each later one waits twice as long. Default 1 second.
    public var retryDelay = Duration.seconds(1)

    /// The largest body of a page, in bytes. Default 64 MiB.
    public var maxPageSize: Int64 = 64 << 20

    /// Takes a page apart into the bytes of its records, each with its id, where pages are not JSON. Default: none.
    ///
    /// An error that it throws ends the sync as ``ImageCacheError/Code/wrongBytes``. ``ListRecord/decoded(as:by:)``,
    /// ``ListRecord/json``, ``sortKey`` and pointers are for records that are JSON.
    public var records: (@Sendable (_ page: [UInt8]) throws -> [(id: String, body: [UInt8])])?

    /// The place in a record of the key that ``RecordOrder/key`` sorts by: a number or a string. Default: none.
    public var sortKey: JSONPointer?

    /// The files that a record names. They are downloaded at background priority, and pinned as long as the record is there.
    /// Default: none.
    public var files: (@Sendable (_ record: ListRecord) -> [FileRequest])?

    /// - Parameters:
    ///   - ids: The request for the array of ids.
    ///   - page: The request for the records of some ids.
    public init(ids: FileRequest, page: @escaping @Sendable (_ ids: [String]) -> FileRequest) {
        self.ids = ids
        self.page = page
    }

    /// A closure for ``files``: the URLs that stand at these places of a record. An array there names several.
    ///
    /// - Parameters:
    ///   - pointers: The places.
    ///   - base: The URL that relative ones are relative to.
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
