public import Foundation
import Glibc

/// A representation at an origin: bytes, validators and further fields.
public struct Representation: Sendable {
    public var content: Content
    /// The ETag field's value with its quotes, `W/` included when weak; nil: none.
    public var etag: String?
    public var lastModified: Date?
    public var contentType = "application/octet-stream"
    public var cacheControl: String?
    /// Further fields, sent as they are.
    public var fields: [(name: String, value: String)] = []

    /// - Parameter etag: nil derives a strong one from the seed; an empty string: none.
    public init(
        seed: UInt64, size: Int64, etag: String? = nil, lastModified: Date? = nil,
        cacheControl: String? = "max-age=3600"
    ) {
        content = Content(seed: seed, size: size)
        self.etag = etag == "" ? nil : etag ?? "\"v\(seed)\""
        self.lastModified = lastModified
        self.cacheControl = cacheControl
    }

    public var size: Int64 { content.size }
}

/// The preferred form of a date in HTTP fields, IMF-fixdate (RFC 9110 section 5.6.7).
public func httpDate(_ date: Date) -> String {
    var seconds = time_t(date.timeIntervalSince1970)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let day = "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    return "\(day) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
}
