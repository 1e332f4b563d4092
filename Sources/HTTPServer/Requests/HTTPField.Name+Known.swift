package import HTTPTypes

extension HTTPField.Name {
    package static let forwarded = known("Forwarded")
    package static let traceParent = known("traceparent")
    static let xForwardedFor = known("X-Forwarded-For")

    /// A name known to be a token.
    package static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is no token") }
        return name
    }
}
