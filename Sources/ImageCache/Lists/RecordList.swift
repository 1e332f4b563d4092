import ConcurrencyPrimitives
import DiskStore
import Glibc

/// A list that a server keeps, as it is here: ids, and the records of the ids.
///
/// It is kept in step with ``sync()``, which asks for the array of ids first and then for the records that are new or changed, the
/// newest first. What is stored can be read at any time, also offline and while a sync runs. All of it is in the store's index: a
/// process may be killed at any instruction, and the next sync goes on where that one stopped.
///
///     let list = cache.list("inbox", owner: "ann", source: source)
///     for try await change in list.sync() { … }
///     let page = try await list.records(limit: 50)
public struct RecordList: Sendable {
    let cache: DownloadCache
    let listName: ListName
    /// Where the list comes from; `nil`: it can be read, and not be synced.
    public let source: JSONListSource?

    /// The list's name.
    public var name: String { listName.name }
    /// The group of lists that it belongs to.
    public var group: String? { listName.group.isEmpty ? nil : listName.group }
    /// Whose it is.
    public var owner: String? { listName.owner.isEmpty ? nil : listName.owner }

    /// The state of a list: how many ids it has, how many records are pending, and when the server was last asked.
    public struct Status: Sendable, Hashable {
        /// The ids that the server listed last.
        public var total: Int
        /// Of these, those whose record is missing or not the newest.
        public var pending: Int
        /// When the server was last asked, in seconds since 1970; `nil`: never.
        public var checked: Double?
    }

    // MARK: Syncing

    /// Brings the list in step with the server.
    ///
    /// The array of ids is asked for at most once in ``JSONListSource/minimumInterval``; what an earlier sync left undone is done in
    /// any case. One sync of a list runs at a time, in all processes: another one tells the changes of the one that runs, and goes on
    /// when that one ends or makes no progress within the source's time-outs.
    ///
    /// Records are stored page by page, each in one transaction with the ids that it settles. The ids that the server lists no longer
    /// are removed, with their records, when the whole new array is there.
    ///
    /// The sequence throws ``ImageCacheError``: `wrongBytes` for a response that is not what was asked for, with its URL and place;
    /// the errors of ``DownloadCache/file(for:)-(FileRequest)``. What is pending then is kept.
    public func sync() -> RecordListSync {
        RecordListSync(on: cache.executor) { [self] (send) async throws(ImageCacheError) in
            guard let source else {
                throw ImageCacheError(.invalidRequest, message: "the list \(name) has no source to sync with")
            }
            try await ListSync(cache: cache, name: listName, source: source, send: send).run()
        }
    }

    // MARK: Reading

    /// A page of the stored records. It costs the same wherever it begins, and however many records there are.
    ///
    /// - Parameters:
    ///   - order: The order of the records. Default: that of the server's array.
    ///   - descending: The other way round.
    ///   - range: With ``RecordOrder/id`` or ``RecordOrder/key``, only records within these bounds.
    ///   - limit: The most records of the page, at least 1.
    ///   - cursor: ``RecordPage/next`` of the page before, of the same order; `nil`: from the beginning.
    /// - Throws: ``ImageCacheError`` with code `invalidRequest` for a cursor that is none of this order.
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

    /// The stored record of an id; `nil` when there is none.
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

    /// Removes the list with its records, and unpins their files. A sync that runs ends with an error.
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

/// The bounds of a range of records, both included.
public struct ClosedRecordRange: Sendable, Hashable {
    /// `nil`: from the first.
    public var lower: RecordKey?
    /// `nil`: to the last.
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
