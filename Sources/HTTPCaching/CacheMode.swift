/// Whose cache it is (RFC 9111 section 1): the rules for several people's cache are stricter than for one person's.
public enum CacheMode: Sendable, Hashable {
    /// One user's cache: a library's or a command's. Ignores `s-maxage`, `proxy-revalidate` and targeted fields, and may
    /// keep what is `private`.
    case `private`
    /// A cache that answers several users: a service's. Obeys `s-maxage`, `proxy-revalidate`, `private`, targeted fields
    /// such as `CDN-Cache-Control`, and the rule on `Authorization` (RFC 9111 section 3.5).
    case shared
}
