public import HTTPCaching

/// The metadata of a stored response, from which its later use is decided.
///
/// A partial begins with the same record, so that a killed download can be resumed and, once complete, stored as if it had not been
/// interrupted.
public struct ResponseRecord: Sendable, Equatable {
    /// The requested URL, without userinfo.
    public var url: String
    /// The final response and its redirects, as needed by RFC 9111.
    public var response: StoredResponse

    /// The URL after redirects.
    public var finalURL: String { response.finalURL }

    package init(url: String, response: StoredResponse) {
        self.url = url
        self.response = response
    }
}
