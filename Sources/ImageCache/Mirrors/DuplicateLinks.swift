import HTTPSemantics
package import HTTPTypes

/// The mirrors that a response announces in `Link` fields with the relation `duplicate` (RFC 6249 section 3, RFC 8288).
package enum DuplicateLinks {
    /// The limit of mirrors that the responses of one download announce; further ones are ignored.
    static let most = 100

    /// - Parameter base: The URL of the response, which relative links are resolved against.
    package static func mirrors(in fields: HTTPFields, base: String) -> [Mirror] {
        guard let base = try? HTTPURL(base) else { return [] }
        let mirrors = WebLink.all(in: fields).lazy.filter { $0.relations.contains("duplicate") }
            .compactMap { link -> Mirror? in
                guard let url = try? HTTPURL(reference: link.target, relativeTo: base) else { return nil }
                let priority = link["pri"].flatMap { Int($0) }.flatMap { (1...999_999).contains($0) ? $0 : nil }
                return Mirror(url.text, priority: priority ?? 999_999)
            }
        return Array(mirrors.prefix(most))
    }
}
