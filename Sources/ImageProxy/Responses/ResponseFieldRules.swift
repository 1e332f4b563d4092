import HTTPSemantics
import HTTPServer
package import HTTPTypes

/// Fields that responses to clients get or lose on their way, whatever is stored: those of one origin.
package struct ResponseFieldRules: Sendable {
    /// In place of the response's fields of the same names.
    package var set: HTTPFields = [:]
    package var dropped: [HTTPField.Name] = []

    package init() {}

    /// Fields of the framing, of the connection, of the content's meaning, of validators and of freshness are not to be changed:
    /// clients and caches behind this one would take the response for another.
    ///
    /// - Parameter name: A name in any letter case.
    package static func areAllowed(for name: HTTPField.Name) -> Bool {
        !HopByHopFields.contains(name.canonicalName) && !fixed.contains(name)
    }

    private static let fixed: Set<HTTPField.Name> = [
        .acceptRanges, .age, .cacheControl, .contentEncoding, .contentLength, .contentRange, .contentType, .date, .eTag,
        .expires, .lastModified, .trailer, .vary, .via,
    ]

    func apply(to response: inout Response) {
        for name in dropped { response.head.headerFields[name] = nil }
        for field in set { response.head.headerFields[field.name] = field.value }
    }
}
