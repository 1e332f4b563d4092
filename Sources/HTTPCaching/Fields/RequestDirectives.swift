import HTTPSemantics
public import HTTPTypes

/// The cache directives of a request (RFC 9111 section 5.2.1, RFC 5861 section 4). Unknown ones are ignored.
public struct RequestDirectives: Sendable, Hashable {
    /// The acceptance of stale responses.
    public enum MaxStale: Sendable, Hashable {
        /// Stale responses are not accepted.
        case none
        /// Stale for at most this many seconds.
        case seconds(Int)
        /// Stale for any time.
        case any
    }

    /// The greatest age accepted. An invalid one accepts none.
    public var maxAge = DirectiveSeconds.absent
    /// The least remaining freshness lifetime accepted.
    public var minFresh = DirectiveSeconds.absent
    /// The acceptance of stale responses.
    public var maxStale = MaxStale.none
    /// The time after its lifetime for which a response is accepted when the origin fails.
    public var staleIfError = DirectiveSeconds.absent
    /// True if a stored response must be validated first; also expressed by `Pragma: no-cache` without `Cache-Control`.
    public var noCache = false
    /// True if the response must not be stored.
    public var noStore = false
    /// True if only a stored response is acceptable.
    public var onlyIfCached = false
    /// True if the response must not be transformed on its way.
    public var noTransform = false

    public init() {}

    /// The directives of all `Cache-Control` lines of a request, or else of `Pragma` (RFC 9111 section 5.4).
    public init(_ fields: HTTPFields) {
        var hasCacheControl = false
        var hasPragma = false
        for field in fields {
            if field.name.isNamed("cache-control") {
                hasCacheControl = true
                field.withUnsafeBytesOfValue { line in forEachDirective(line) { add($0) } }
            } else if field.name.isNamed("pragma") {
                hasPragma = true
            }
        }
        if hasPragma, !hasCacheControl {
            fields.forEachMember(of: "pragma") { if $0.isName("no-cache") { noCache = true } }
        }
    }

    private mutating func add(_ directive: ScannedDirective) {
        let name = directive.name
        switch name.count {
        case 7: if name.isName("max-age") { maxAge.merge(directive.seconds) }
        case 8:
            if name.isName("no-cache") {
                noCache = true
            } else if name.isName("no-store") {
                noStore = true
            }
        case 9:
            if name.isName("max-stale") {
                if case .none = directive.argument {
                    if maxStale == .none { maxStale = .any }
                } else {
                    // The least of several values counts; an invalid one accepts nothing.
                    let seconds = directive.seconds.value ?? 0
                    if case .seconds(let other) = maxStale {
                        maxStale = .seconds(min(other, seconds))
                    } else {
                        maxStale = .seconds(seconds)
                    }
                }
            } else if name.isName("min-fresh") {
                minFresh.merge(directive.seconds)
            }
        case 12: if name.isName("no-transform") { noTransform = true }
        case 14:
            if name.isName("only-if-cached") {
                onlyIfCached = true
            } else if name.isName("stale-if-error") {
                staleIfError.merge(directive.seconds)
            }
        default: break
        }
    }
}
