public import HTTPTypes

extension CacheRules {
    /// Returns true if a status is caused by a peculiarity of one request, so that it is never stored. Otherwise a client could replace the
    /// response for all clients with an error by sending an unusual field ("cache-poisoned denial of service").
    ///
    /// 428, 429, 431 and 511 MUST NOT be stored (RFC 6585). The other 4xx statuses indicate that this request was
    /// malformed, too large, in the wrong form or not allowed for this client; the key contains none of these
    /// properties. Storing is never required (RFC 9111 section 3), even with explicit freshness. An unknown status
    /// counts as 400 (RFC 9110 section 15). The exceptions concern the resource: 404, 410 and 451, and 403 and 405,
    /// which ``mayTakePlace(of:_:)`` decides.
    static func concernsOneRequest(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 403, 404, 405, 410, 451: false
        case 400...499, 511: true
        default: false
        }
    }

    /// Returns true if a response with this status may replace the stored ones.
    ///
    /// A status that a client can provoke by an unusual request does not replace a success: 403 (a firewall's decision
    /// on a field), 405 (a method named in a field) and the 5xx statuses, which RFC 9111 section 4.3.3 lets a cache
    /// forward without storing them. The stored success remains, and is validated when it is stale. 404, 410 and 451
    /// count as the resource's new state.
    public func mayTakePlace(of stored: [StoredResponse], _ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 403, 405, 500...599: !stored.contains { $0.status.code < 400 && !$0.isInvalidated }
        default: true
        }
    }
}
