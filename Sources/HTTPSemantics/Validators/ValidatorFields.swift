public import FoundationEssentials
public import HTTPTypes

/// The validator fields of a response (RFC 9110 section 8.8).
public struct ValidatorFields: Sendable, Hashable {
    /// The entity tag, if a valid one exists.
    public var entityTag: EntityTag?
    /// `Last-Modified` as sent, if it is a date.
    public var lastModified: String?
    /// True if ``lastModified`` counts as strong (RFC 9110 section 8.8.2.2).
    public var isLastModifiedStrong: Bool
    /// True if there is an `ETag`, valid or not.
    private let hasETag: Bool

    /// True if there is any validator.
    public var exists: Bool { entityTag != nil || lastModified != nil }

    /// True if there is a validator that proves two bodies equal byte for byte.
    public var isStrong: Bool { strongText != nil }

    /// ``lastModified``, if it counts as strong.
    public var strongLastModified: String? { isLastModifiedStrong ? lastModified : nil }

    /// The value for `If-Range` (RFC 9110 section 13.1.5): a strong entity tag, or a strong date if there is no `ETag`
    /// at all.
    public var strongText: String? {
        if hasETag { return entityTag.flatMap { $0.isWeak ? nil : $0.text } }
        return strongLastModified
    }

    /// Reads the validators from a response's fields. A field with several different values counts as absent.
    ///
    /// - Parameters:
    ///   - fields: The response's fields.
    ///   - receivedAt: The reference for the century of a two-digit year.
    public init(_ fields: HTTPFields, receivedAt: Date = Date(timeIntervalSince1970: 0)) {
        let now = receivedAt.secondsSince1970
        func date(_ field: HTTPField) -> Double? { field.withUnsafeBytesOfValue { HTTPDate.parse($0, now: now) } }
        let tag = fields.singleton("etag")
        hasETag = tag != .none
        entityTag = tag.field.flatMap { EntityTag($0) }
        isLastModifiedStrong = false
        guard let field = fields.singleton("last-modified").field, let modified = date(field) else { return }
        lastModified = field.value
        // Only an IMF-fixdate may be sent back (RFC 9110 section 5.6.7).
        guard let sent = fields.singleton("date").field.flatMap(date), HTTPDate.isIMFFixdate(field.value) else {
            return
        }
        isLastModifiedStrong = Self.isStrong(lastModified: modified, date: sent)
    }

    /// Returns true if the condition of an `If-Range` holds (RFC 9110 section 13.1.5): its validator is exactly and
    /// strongly this one.
    package func satisfies(ifRange condition: HTTPField, receivedAt: Date) -> Bool {
        if let tag = EntityTag(condition) { return entityTag?.matchesStrongly(tag) ?? false }
        guard let text = strongLastModified, let modified = HTTPDate.parse(text, now: receivedAt) else { return false }
        return HTTPDate.parse(condition.value, now: receivedAt) == modified
    }

    /// Returns true if a `Last-Modified` counts as strong: the response's `Date` is at least a second later, so that
    /// the representation did not change again within the same second (RFC 9110 section 8.8.2.2).
    public static func isStrong(lastModified: Date, date: Date) -> Bool {
        isStrong(lastModified: lastModified.secondsSince1970, date: date.secondsSince1970)
    }

    private static func isStrong(lastModified: Double, date: Double) -> Bool {
        date - lastModified >= 1
    }
}
