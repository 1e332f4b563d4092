import FoundationEssentials
import HTTPSemantics
import ImageCache

/// `GET /api/entries?search=&kind=&sort=&after=&limit=`: the cached entries (see ``EntrySelection``).
struct EntriesResponse: Encodable {
    var entries: [Entry]
    /// The value of `after` for the next page; nil if there is none.
    var next: String?

    struct Entry: Encodable {
        var id: String
        var url: String
        var size: Int64
        var allocated: Int64
        /// Seconds since 1970.
        var stored: Double
        var lastUsed: Double
        var type: String?
        /// The stored response's status, if it is not a success.
        var status: Int?
        /// The recipe of an image that the cache derived from an original.
        var recipe: String?
        var etag: String?
        var vary: String?
        /// The URL of a preview, relative to the page.
        var preview: String?
        var freshness: FreshnessSummary
    }
}

extension EntriesResponse.Entry {
    init(_ entry: CacheEntry, now: Date, rules: CacheRules) {
        id = EntryID.text(entry.id)
        url = MaskedText.masked(entry.url)
        size = entry.size
        allocated = entry.allocatedSize
        stored = entry.storedAt.timeIntervalSince1970.rounded()
        lastUsed = entry.lastAccessDate.timeIntervalSince1970.rounded()
        recipe = entry.recipe
        freshness = FreshnessSummary(entry.explanation(at: now, rules: rules))
        let fields = entry.record?.response.fields
        let declared = fields?[.contentType].map { $0.prefix { $0 != ";" }.lowercased() }
        // A derived image has its own format; its record is the original's.
        type = (entry.recipe == nil ? declared : entry.format?.mediaType).map(MaskedText.visible)
        if entry.recipe == nil {
            status = entry.record.map { $0.response.status.code }.flatMap { (200..<300).contains($0) ? nil : $0 }
            etag = fields?[.eTag].map(MaskedText.visible)
            vary = fields?[.vary].map(MaskedText.visible)
        }
        if let type, ImageFormat(mediaType: type)?.isSupported == true {
            preview = "api/entries/\(id)/thumbnail"
        }
    }
}

/// An entry's number as text: too large for a number in JavaScript.
enum EntryID {
    static func text(_ id: Int64) -> String { String(UInt64(bitPattern: id), radix: 16) }

    static func number(_ text: String) -> Int64? {
        guard text.utf8.count <= 16 else { return nil }
        return UInt64(text, radix: 16).map { Int64(bitPattern: $0) }
    }
}
