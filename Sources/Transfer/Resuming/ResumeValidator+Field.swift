import HTTPSemantics

extension ResumeValidator {
    /// The value that `If-Range` carries.
    var fieldValue: String {
        switch self {
        case .etag(let value), .lastModified(let value): value
        }
    }

    /// Whether `If-Range` may carry it. A weak entity-tag may not; whether a date was strong was decided when the
    /// response came, only its form is checked here.
    var isUsable: Bool {
        switch self {
        case .etag(let value): EntityTag(value)?.isWeak == false
        case .lastModified(let value): HTTPDate.isIMFFixdate(value)
        }
    }
}
