import HTTPSemantics

extension ResumeValidator {
    /// The value for `If-Range`.
    var fieldValue: String {
        switch self {
        case .etag(let value), .lastModified(let value): value
        }
    }

    /// True if `If-Range` may contain it. A weak entity-tag is not allowed; a date was checked to be strong when the
    /// response came, only its form is checked here.
    var isUsable: Bool {
        switch self {
        case .etag(let value): EntityTag(value)?.isWeak == false
        case .lastModified(let value): HTTPDate.isIMFFixdate(value)
        }
    }
}
