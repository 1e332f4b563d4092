import HTTPSemantics

extension ResumeValidator {
    /// The value for `If-Range`; `nil` to send none.
    var fieldValue: String? {
        switch self {
        case .etag(let value), .lastModified(let value): value
        case .digest: nil
        }
    }

    /// True if `If-Range` may contain the validator. A weak entity-tag is not allowed. The strength of a date was checked when the response was
    /// received, so only its form is checked here.
    var isUsable: Bool {
        switch self {
        case .etag(let value): EntityTag(value)?.isWeak == false
        case .lastModified(let value): HTTPDate.isIMFFixdate(value)
        case .digest: true
        }
    }
}
