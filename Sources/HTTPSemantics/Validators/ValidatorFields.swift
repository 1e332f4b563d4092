public import FoundationEssentials
public import HTTPTypes

/// What a response is recognised by (RFC 9110 section 8.8).
public struct CacheValidator: Sendable, Hashable {
    /// Its entity tag, if it has a valid one.
    public var entityTag: EntityTag?
    /// Its `Last-Modified` as it was sent, if that is a date.
    public var lastModified: String?
    /// Whether ``lastModified`` may be taken for strong (RFC 9110 section 8.8.2.2).
    public var isLastModifiedStrong: Bool

    /// Whether there is any validator.
    public var exists: Bool { entityTag != nil || lastModified != nil }

    /// Whether there is one that proves two bodies equal byte for byte.
    public var isStrong: Bool { strongText != nil }

    /// The value that `If-Range` takes (RFC 9110 section 13.1.5): a strong entity tag; a date that counts as strong only
    /// where there is no tag at all.
    public var strongText: String? {
        if let entityTag { return entityTag.isWeak ? nil : entityTag.text }
        return isLastModifiedStrong ? lastModified : nil
    }

    /// The validators among the fields of a response.
    /// - Parameters:
    ///   - fields: The response's fields.
    ///   - receivedAt: Decides the century of a two-digit year.
    public init(_ fields: HTTPFields, receivedAt: Date = Date(timeIntervalSince1970: 0)) {
        let now = receivedAt.secondsSince1970
        entityTag = fields.first("etag").flatMap { field in field.withUnsafeBytesOfValue { EntityTag($0[...]) } }
        isLastModifiedStrong = false
        guard let field = fields.first("last-modified"),
            let modified = field.withUnsafeBytesOfValue({ HTTPDate.parse($0, now: now) })
        else { return }
        lastModified = field.value
        if let date = fields.first("date").flatMap({ field in
            field.withUnsafeBytesOfValue { HTTPDate.parse($0, now: now) }
        }) {
            isLastModifiedStrong = CacheValidator.isStrong(lastModified: modified, date: date)
        }
    }

    /// Whether a `Last-Modified` can be taken for strong: the response's `Date` is at least a second later, so that the
    /// representation did not change again within the second that it names (RFC 9110 section 8.8.2.2).
    public static func isStrong(lastModified: Date, date: Date) -> Bool {
        isStrong(lastModified: lastModified.secondsSince1970, date: date.secondsSince1970)
    }

    static func isStrong(lastModified: Double, date: Double) -> Bool {
        date - lastModified >= 1
    }
}
