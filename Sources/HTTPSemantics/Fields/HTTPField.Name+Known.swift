package import HTTPTypes

extension HTTPField.Name {
    /// RFC 9211.
    package static let cacheStatus = known("Cache-Status")

    /// RFC 9110 section 7.2.
    package static let host = known("Host")

    /// The digest of a message's content, which is not that of the representation in a 206 (RFC 9530 section 2).
    package static let contentDigest = known("Content-Digest")

    /// A name known to be a token.
    package static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is no token") }
        return name
    }
}
