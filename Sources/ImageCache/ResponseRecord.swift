public import HTTPCaching

/// What the store remembers of a response beside its body: all that later decisions need.
///
/// The same record stands at the head of a partial, so that a killed download can be continued and, once whole, stored
/// as if it had never been interrupted.
public struct ResponseRecord: Sendable, Equatable {
    /// The URL that was asked for, without userinfo.
    public var url: String
    /// The final response, as RFC 9111 sees it.
    public var response: StoredResponse

    /// Where redirects led.
    public var finalURL: String { response.finalURL }
}
