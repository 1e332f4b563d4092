public import HTTPCaching

/// The metadata that the store keeps of a response beside its body, for later decisions.
///
/// The same record stands at the head of a partial, so that a killed download can be continued and, once whole, stored
/// as if it had never been interrupted.
public struct ResponseRecord: Sendable, Equatable {
    /// The requested URL, without userinfo.
    public var url: String
    /// The final response, as RFC 9111 sees it.
    public var response: StoredResponse

    /// The URL after redirects.
    public var finalURL: String { response.finalURL }
}
