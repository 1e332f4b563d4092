/// Whether `field` is exactly one strong entity-tag (RFC 9110 section 8.8.3): quoted, and not marked with `W/`. One whose bytes
/// are no UTF-8 is taken for none: as text, it would be equal to others.
func isStrongEntityTag(_ field: String) -> Bool {
    let bytes = field.utf8
    guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
    guard !field.unicodeScalars.contains("\u{FFFD}") else { return false }
    return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }
}

extension ResumeValidator {
    /// What `If-Range` carries.
    var fieldValue: String {
        switch self {
        case .etag(let value), .lastModified(let value): value
        }
    }

    /// Whether `If-Range` may carry it. A weak entity-tag may not; whether a date was strong was decided when the
    /// response came, only its form is checked here.
    var isUsable: Bool {
        switch self {
        case .etag(let value): isStrongEntityTag(value)
        case .lastModified(let value): secondsSince1970(imfFixdate: value) != nil
        }
    }
}
