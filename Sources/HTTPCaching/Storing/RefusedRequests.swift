public import HTTPTypes

extension CacheRules {
    /// Whether a status answers what was peculiar about one request, so that it is never stored: whoever sends an odd field
    /// would else put an error in everybody's way ("cache-poisoned denial of service").
    ///
    /// 428, 429, 431 and 511 MUST NOT be stored (RFC 6585). The other statuses 4xx say that this request was malformed, too
    /// large, in the wrong form or not allowed to this client; the key holds none of these properties. Storing is never
    /// required (RFC 9111 section 3), also not with explicit freshness. A status that is not known here counts as 400 (RFC 9110
    /// section 15). The exceptions are about the resource: 404, 410 and 451, and 403 and 405, which
    /// ``mayTakePlace(of:_:)`` looks at.
    static func concernsOneRequest(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 403, 404, 405, 410, 451: false
        case 400...499, 511: true
        default: false
        }
    }

    /// Whether a response may be stored where these are stored already.
    ///
    /// What a client may bring about by an odd request does not take the place of a success: 403 (a firewall's verdict on a
    /// field), 405 (a method named in a field) and the statuses 5xx, which RFC 9111 section 4.3.3 lets a cache pass on without
    /// storing them. The success stays, and is confirmed when it is stale. 404, 410 and 451 are taken for the resource's new state.
    public func mayTakePlace(of stored: [StoredResponse], _ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 403, 405, 500...599: !stored.contains { $0.status.code < 400 && !$0.isInvalidated }
        default: true
        }
    }
}
