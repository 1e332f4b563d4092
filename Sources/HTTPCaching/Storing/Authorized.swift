import HTTPTypes

extension CacheRules {
    /// Returns true if a response may be shared although it belongs, or is to be served, to a request with
    /// `Authorization`: one of `public`, `s-maxage` and `must-revalidate` allows it (RFC 9111 section 3.5). Always
    /// false in a private cache, whose entries belong to the owner of the credentials.
    public func isSharedDespiteAuthorization(_ stored: StoredResponse) -> Bool {
        guard mode == .shared else { return false }
        return ResponseFacts(stored.fields, receivedAt: stored.responseTime, rules: self).allowsAuthorized
    }
}

extension ResponseFacts {
    /// The directives that let a shared cache store the response to a request with `Authorization`.
    var allowsAuthorized: Bool {
        !directives.flags.isDisjoint(with: [.mustRevalidate, .public]) || directives.sharedMaxAge != .absent
    }
}
