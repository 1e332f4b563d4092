import FoundationEssentials
import ImageCache

/// An entry of the store as `ls`, `info` and `verify` show it. Sizes are bytes, dates ISO 8601 in UTC.
struct EntryReport: Encodable {
    var url: String
    var finalURL: String?
    var path: String
    var size: Int64
    var allocated: Int64
    var stored: String
    var lastAccess: String
    var status: Int?
    var contentType: String?
    var etag: String?
    var lastModified: String?
    var freshness: String?

    private enum CodingKeys: String, CodingKey {
        case url, path, size, allocated, stored, status, etag, freshness
        case finalURL = "final_url"
        case lastAccess = "last_access"
        case contentType = "content_type"
        case lastModified = "last_modified"
    }

    init(_ entry: CacheEntry, now: Date) {
        url = entry.url
        path = entry.path
        size = entry.size
        allocated = entry.allocatedSize
        stored = Self.iso(entry.storedAt)
        lastAccess = Self.iso(entry.lastAccessDate)
        guard let record = entry.record else { return }
        finalURL = record.finalURL
        status = record.response.status.code
        contentType = record.response.fields[.contentType]
        etag = record.response.fields[.eTag]
        lastModified = record.response.fields[.lastModified]
        freshness = entry.freshness(at: now)
    }

    static func iso(_ date: Date) -> String { date.formatted(.iso8601) }
}

/// Aligned `name  value` lines.
struct Table {
    private var rows: [(String, String)] = []

    mutating func add(_ name: String, _ value: String?) {
        if let value { rows.append((name, value.forTerminal)) }
    }

    func print() {
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows { Output.line(name + String(repeating: " ", count: width - name.count + 2) + value) }
    }
}
