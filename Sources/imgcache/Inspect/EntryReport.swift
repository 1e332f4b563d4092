import FoundationEssentials
import ImageCache
import ImageCodec

/// An entry of the store as displayed by `ls`, `info` and `verify`. Sizes are in bytes, dates ISO 8601 in UTC.
struct EntryReport: Encodable {
    var url: String
    /// The owner; absent if there is none.
    var namespace: String?
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
    /// The header of the image, if its format is supported.
    var image: ImageReport?
    /// A description of an image that the cache derived from the URL's original.
    var recipe: String?

    private enum CodingKeys: String, CodingKey {
        case url, namespace, path, size, allocated, stored, status, etag, freshness, image, recipe
        case finalURL = "final_url"
        case lastAccess = "last_access"
        case contentType = "content_type"
        case lastModified = "last_modified"
    }

    init(_ entry: CacheEntry, now: Date) {
        url = entry.url
        namespace = entry.namespace
        path = entry.path
        size = entry.size
        allocated = entry.allocatedSize
        stored = Self.iso(entry.storedAt)
        lastAccess = Self.iso(entry.lastAccessDate)
        recipe = entry.recipe
        guard let record = entry.record, recipe == nil else { return }
        finalURL = record.finalURL
        status = record.response.status.code
        contentType = record.response.fields[.contentType]
        etag = record.response.fields[.eTag]
        lastModified = record.response.fields[.lastModified]
        freshness = entry.freshness(at: now, rules: CachingOptions.rules)
        if record.response.status.kind != .successful {
            freshness = "An error response stored for a proxy; not used by fetch."
        }
    }

    static func iso(_ date: Date) -> String { date.formatted(.iso8601) }
}

/// The header of an image file, as displayed by `info`.
struct ImageReport: Encodable {
    var format: String
    var width: Int
    var height: Int
    var orientation: Int
    var bitDepth: Int
    var hasAlpha: Bool
    var isProgressive: Bool
    var frames: Int
    var profile: String?

    private enum CodingKeys: String, CodingKey {
        case format, width, height, orientation, frames, profile
        case bitDepth = "bit_depth"
        case hasAlpha = "alpha"
        case isProgressive = "progressive"
    }

    /// `nil` if the file is not an image of a supported format.
    init?(path: String) {
        guard let info = try? IsolatedFiles(.ofWorkerFormats, width: 1).info(of: ImageSource(path: path)) else {
            return nil
        }
        format = "\(info.format)"
        (width, height) = (info.width, info.height)
        orientation = info.orientation.rawValue
        bitDepth = info.bitDepth
        hasAlpha = info.hasAlpha
        isProgressive = info.isProgressive
        frames = info.frames
        profile = info.profile
    }

    var description: String {
        var parts = ["\(format) \(width) × \(height)", "\(bitDepth) bits"]
        if hasAlpha { parts.append("alpha") }
        if isProgressive { parts.append(format == "PNG" ? "interlaced" : "progressive") }
        if orientation != 1 { parts.append("orientation \(orientation)") }
        if frames > 1 { parts.append("\(frames) frames") }
        if let profile { parts.append("profile \(profile)") }
        return parts.joined(separator: ", ")
    }
}

/// Aligned `name  value` lines.
struct Table {
    private var rows: [(String, String)] = []

    mutating func add(_ name: String, _ value: String?) {
        if let value { rows.append((name, value.forTerminal)) }
    }

    func print() {
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows { Output.line(name.leftAligned(in: width + 2) + value) }
    }
}
