import FoundationEssentials
import ImageCache

/// The entries that the page shows, and their order: `search`, `kind` and `sort` of `GET /api/entries`.
struct EntrySelection: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case all
        /// As the origin sent them, with a status 2xx.
        case files
        /// Derived by the cache.
        case images
        /// Responses with another status.
        case errors
        case stale

        fileprivate func includes(_ entry: EntriesResponse.Entry) -> Bool {
            switch self {
            case .all: true
            case .files: entry.recipe == nil && entry.status == nil
            case .images: entry.recipe != nil
            case .errors: entry.status != nil
            case .stale: entry.freshness.state == .stale
            }
        }
    }

    enum Sort: String, Sendable, CaseIterable {
        /// The newest first; the only one with pages.
        case newest
        case largest
        /// The latest use first.
        case used
        /// The longest unused first, which are evicted next.
        case unused

        /// The order of the store; nil for pages from the newest on.
        fileprivate var order: (by: EntryOrder, descending: Bool)? {
            switch self {
            case .newest: nil
            case .largest: (.size, true)
            case .used: (.age, true)
            case .unused: (.age, false)
            }
        }
    }

    let search: String
    let kind: Kind
    let sort: Sort

    /// The number of entries that are examined for a page.
    static let mostExamined = 20_000

    /// - Throws: ``AdminError`` for a kind or a sort that does not exist.
    init(_ request: AdminRequest) throws(AdminError) {
        search = request.query("search") ?? ""
        kind = try Self.value("kind", of: request) ?? .all
        sort = try Self.value("sort", of: request) ?? .newest
    }

    private static func value<Value: CaseIterable & RawRepresentable<String>>(
        _ name: String, of request: AdminRequest
    ) throws(AdminError) -> Value? {
        guard let text = request.query(name) else { return nil }
        if let value = Value(rawValue: text) { return value }
        let values = Value.allCases.map(\.rawValue).joined(separator: ", ")
        throw AdminError(.badRequest, name, "\(name) is one of \(values).")
    }

    func page(
        of cache: DownloadCache, after last: Int64?, limit: Int, now: Date, rules: CacheRules
    ) async throws(ImageCacheError) -> EntriesResponse {
        guard let order = sort.order else {
            return try await newest(of: cache, after: last, limit: limit, now: now, rules: rules)
        }
        var shown = try await cache.entries(
            by: order.by, descending: order.descending, matching: search, examining: Self.mostExamined, limit: limit
        ) { [kind] stored in
            let entry = EntriesResponse.Entry(stored, now: now, rules: rules)
            return kind.includes(entry) ? entry : nil
        }
        // The store orders by the size on disk, which is equal for many small files.
        if sort == .largest { shown.sort { $0.size > $1.size } }
        return EntriesResponse(entries: shown, next: nil)
    }

    private func newest(
        of cache: DownloadCache, after last: Int64?, limit: Int, now: Date, rules: CacheRules
    ) async throws(ImageCacheError) -> EntriesResponse {
        var found: [EntriesResponse.Entry] = []
        var (place, left) = (last, Self.mostExamined)
        while true {
            let page = try await cache.entries(
                matching: search, after: place, limit: kind == .all ? limit : min(left, 200))
            for (index, entry) in page.entries.enumerated() {
                let shown = EntriesResponse.Entry(entry, now: now, rules: rules)
                guard kind.includes(shown) else { continue }
                found.append(shown)
                guard found.count == limit else { continue }
                let isLast = page.next == nil && index == page.entries.count - 1
                return EntriesResponse(entries: found, next: isLast ? nil : EntryID.text(entry.id))
            }
            left -= page.entries.count
            // A page without entries is a search that has examined as many as one request may.
            guard let next = page.next, !page.entries.isEmpty, kind != .all, left > 0 else {
                return EntriesResponse(entries: found, next: page.next.map(EntryID.text))
            }
            place = next
        }
    }
}
