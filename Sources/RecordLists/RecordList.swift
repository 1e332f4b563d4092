import ConcurrencyPrimitives
import DiskStore
import Glibc
public import ImageCache

/// A local copy of a list on a server: ids, and their records.
///
/// ``sync()`` updates it: it fetches the array of ids, then the new and changed records, newest first. Stored records can be read at any
/// time, also offline and during a sync. The list is stored in the cache's index. If a process is killed during a sync, the next sync
/// resumes it.
///
///     let list = try cache.list("inbox", owner: "ann", source: source)
///     for try await change in list.sync() { … }
///     let page = try await list.records(limit: 50)
public struct RecordList: Sendable {
    let cache: DownloadCache
    let listName: ListName
    /// The list's source; a list without one can be read but not synced.
    public let source: JSONListSource?

    /// The list's name.
    public var name: String { listName.name }
    /// The list's group.
    public var group: String? { listName.group.isEmpty ? nil : listName.group }
    /// The list's owner.
    public var owner: String? { listName.owner.isEmpty ? nil : listName.owner }

    /// The state of a list.
    public struct Status: Sendable, Hashable {
        /// The number of ids in the server's last array.
        public var total: Int
        /// The number of ids whose record is missing or outdated.
        public var pending: Int
        /// The time of the last request for the array, in seconds since 1970; `nil` if there was none.
        public var checked: Double?
    }

    // MARK: Syncing

    /// Updates the list from the server.
    ///
    /// The array of ids is fetched at most once in ``JSONListSource/minimumInterval``; pending records of an earlier sync are always
    /// fetched. Only one sync of a list runs at a time, across all processes. A second one reports the changes of the running sync. It
    /// takes over when that sync ends or makes no progress within the source's time-outs.
    ///
    /// Each page is stored in one transaction with the state of its ids. Ids that the server no longer lists are removed with their records
    /// once the new array is complete.
    ///
    /// The sequence throws `ImageCacheError`: `wrongBytes` with URL and position for an invalid response, or an error of
    /// `DownloadCache.file(for:)`. Ids that are still pending are fetched by the next sync.
    public func sync() -> RecordListSync {
        RecordListSync(on: cache.executor) { [self] (send) async throws(ImageCacheError) in
            guard let source else {
                throw ImageCacheError(.invalidRequest, message: "the list \(name) has no source to sync with")
            }
            try await ListSync(cache: cache, name: listName, source: source, send: send).run()
        }
    }

    // MARK: Reading

    /// A page of the stored records. The cost does not depend on the place of the page or the number of records.
    ///
    /// - Parameters:
    ///   - order: The order of the records. Default: as in the server's array.
    ///   - descending: True to reverse the order.
    ///   - range: The range of ids or keys; only with ``RecordOrder/id`` and ``RecordOrder/key``.
    ///   - limit: The maximum number of records, at least 1.
    ///   - cursor: ``RecordPage/next`` of the previous page in the same order; `nil` for the first page.
    /// - Throws: `ImageCacheError` with code `invalidRequest` for a cursor that is invalid in this order.
    public func records(
        sortedBy order: RecordOrder = .order, descending: Bool = false, in range: ClosedRecordRange? = nil, limit: Int,
        after cursor: String? = nil
    ) async throws(ImageCacheError) -> RecordPage {
        var request = ListPageRequest(order: order.listOrder, limit: max(1, min(limit, 1 << 20)))
        request.isDescending = descending
        (request.lower, request.upper) = try bounds(range, order)
        if let cursor { request.after = try RecordCursor.place(cursor, in: order) }
        let asked = request
        return try await cache.executor.run { [cache, listName] () throws(ImageCacheError) in
            try cache.blocking.translating {
                guard let list = try cache.blocking.store.list(listName) else { return RecordPage(records: []) }
                let rows = try cache.blocking.store.records(of: list, asked)
                let next = rows.count == asked.limit ? rows.last.map { RecordCursor.text($0.place) } : nil
                return RecordPage(records: rows.map { ListRecord($0.record) }, next: next)
            }
        }
    }

    /// The stored record of an id; `nil` if there is none.
    public func record(_ id: String) async throws(ImageCacheError) -> ListRecord? {
        try await cache.executor.run { [cache, listName] () throws(ImageCacheError) in
            try cache.blocking.translating {
                guard let list = try cache.blocking.store.list(listName) else { return nil }
                return try cache.blocking.store.record(id, of: list).map { ListRecord($0) }
            }
        }
    }

    /// Returns the state of the list; `nil` before its first sync.
    public func status() async throws(ImageCacheError) -> Status? {
        try await cache.executor.run { [cache, listName] () throws(ImageCacheError) in
            try cache.blocking.translating {
                guard let list = try cache.blocking.store.list(listName) else { return nil }
                return Status(
                    total: Int(list.items), pending: Int(try cache.blocking.store.pendingCount(of: list)),
                    checked: list.checked > 0 ? Double(list.checked) / 1000 : nil)
            }
        }
    }

    /// Removes the list with its records, and unpins their files. A running sync ends with an error.
    public func remove() async throws(ImageCacheError) {
        try await cache.executor.run { [cache, listName] () throws(ImageCacheError) in
            try cache.blocking.translating { try cache.blocking.store.removeList(listName) }
        }
    }

    private func bounds(
        _ range: ClosedRecordRange?, _ order: RecordOrder
    ) throws(ImageCacheError) -> (lower: ListPlace?, upper: ListPlace?) {
        guard let range else { return (nil, nil) }
        switch order {
        case .key: return (range.lower.map { .key($0.sortKey, id: "") }, range.upper.map { .key($0.sortKey, id: "") })
        case .id: return (range.lower.map { .id($0.text) }, range.upper.map { .id($0.text) })
        default: throw ImageCacheError(.invalidRequest, message: "a range needs the order of ids or of keys")
        }
    }
}

/// A range of records, including its bounds.
public struct ClosedRecordRange: Sendable, Hashable {
    /// `nil`: unbounded.
    public var lower: RecordKey?
    /// `nil`: unbounded.
    public var upper: RecordKey?

    public init(from lower: RecordKey? = nil, through upper: RecordKey? = nil) {
        self.lower = lower
        self.upper = upper
    }
}

extension RecordKey {
    var sortKey: ListSortKey {
        switch self {
        case .text(let text): .text(text)
        case .number(let number): .number(number)
        }
    }

    fileprivate var text: String {
        switch self {
        case .text(let text): text
        case .number(let number): number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
        }
    }
}

extension RecordOrder {
    fileprivate var listOrder: ListOrder {
        switch self {
        case .order: .array
        case .newest: .newest
        case .id: .id
        case .key: .key
        }
    }
}
