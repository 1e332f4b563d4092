/// The kind of a cache (RFC 9111 section 1): the rules for a cache shared by several users are stricter than for one
/// user's.
public enum CacheMode: Sendable, Hashable {
    /// A cache for one user: a library's or a command's. Ignores `s-maxage`, `proxy-revalidate` and targeted fields,
    /// and may store `private` responses.
    case `private`
    /// A cache for several users: a service's. Obeys `s-maxage`, `proxy-revalidate`, `private`, targeted fields such as
    /// `CDN-Cache-Control`, and the rule on `Authorization` (RFC 9111 section 3.5).
    case shared
}
