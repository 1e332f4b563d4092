import HTTPSemantics
import HTTPServer
package import HTTPTypes

/// The fields that one origin's responses get or lose on their way to clients. They do not affect stored responses.
package struct ResponseFieldRules: Sendable {
    /// The fields to set. They replace fields of the same names.
    package var set: HTTPFields = [:]
    package var dropped: [HTTPField.Name] = []

    package init() {}

    /// Returns false for fields of framing, connections, content semantics, validators and freshness. If these changed, clients and
    /// downstream caches would misinterpret the response.
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
