public import FoundationEssentials
public import HTTPTypes

/// The validator fields of a response (RFC 9110 section 8.8).
public struct ValidatorFields: Sendable, Hashable {
    /// The entity tag, if there is a valid one.
    public var entityTag: EntityTag?
    /// `Last-Modified` as it was sent, if that is a date.
    public var lastModified: String?
    /// Whether ``lastModified`` counts as strong (RFC 9110 section 8.8.2.2).
    public var isLastModifiedStrong: Bool
    /// Whether there is an `ETag`, valid or not.
    private let hasETag: Bool

    /// Whether there is any validator.
    public var exists: Bool { entityTag != nil || lastModified != nil }

    /// Whether there is one that proves two bodies equal byte for byte.
    public var isStrong: Bool { strongText != nil }

    /// ``lastModified``, if it counts as strong.
    public var strongLastModified: String? { isLastModifiedStrong ? lastModified : nil }

    /// The value that `If-Range` takes (RFC 9110 section 13.1.5): a strong entity tag; a date that counts as strong only where
    /// there is no `ETag` at all.
    public var strongText: String? {
        if hasETag { return entityTag.flatMap { $0.isWeak ? nil : $0.text } }
        return strongLastModified
    }

    /// The validators among the fields of a response. A field that is given several times with different values is none.
    ///
    /// - Parameters:
    ///   - fields: The response's fields.
    ///   - receivedAt: Decides the century of a two-digit year.
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

    /// Whether the condition of an `If-Range` holds (RFC 9110 section 13.1.5): its validator is exactly and strongly this one.
    package func satisfies(ifRange condition: HTTPField, receivedAt: Date) -> Bool {
        if let tag = EntityTag(condition) { return entityTag?.matchesStrongly(tag) ?? false }
        guard let text = strongLastModified, let modified = HTTPDate.parse(text, now: receivedAt) else { return false }
        return HTTPDate.parse(condition.value, now: receivedAt) == modified
    }

    /// Whether a `Last-Modified` can be taken for strong: the response's `Date` is at least a second later, so that the
    /// representation did not change again within the second that it names (RFC 9110 section 8.8.2.2).
    public static func isStrong(lastModified: Date, date: Date) -> Bool {
        isStrong(lastModified: lastModified.secondsSince1970, date: date.secondsSince1970)
    }

    private static func isStrong(lastModified: Double, date: Double) -> Bool {
        date - lastModified >= 1
    }
}
