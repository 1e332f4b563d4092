package import HTTPTypes

extension HTTPField.Name {
    /// RFC 9211.
    package static let cacheStatus = known("Cache-Status")

    /// RFC 9110 section 7.2.
    package static let host = known("Host")

    /// A name known to be a token.
    package static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is no token") }
        return name
    }
}
