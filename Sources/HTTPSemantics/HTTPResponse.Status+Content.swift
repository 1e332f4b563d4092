package import HTTPTypes

extension HTTPResponse.Status {
    /// True if content can follow a head with this status (RFC 9112 section 6.3), regardless of its length fields.
    package var mayHaveContent: Bool { code >= 200 && self != .noContent && self != .notModified }
}
