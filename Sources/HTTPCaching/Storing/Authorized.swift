import HTTPTypes

extension CacheRules {
    /// Whether a response is for everybody although it answers, or is to answer, a request with `Authorization`: one of
    /// `public`, `s-maxage` and `must-revalidate` says so (RFC 9111 section 3.5). Always false in a private cache, whose
    /// entries belong to whoever's credentials they came for.
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
