package import HTTPTypes

extension HTTPFields {
    /// The names of preconditions (RFC 9110 section 13.1) and of a range (section 14.2).
    package static let conditionNames: [HTTPField.Name] = [
        .range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ]

    /// The fields of a request without its conditions and range.
    package var withoutConditions: HTTPFields {
        var fields = self
        for name in Self.conditionNames where contains(name) { fields[name] = nil }
        return fields
    }
}
