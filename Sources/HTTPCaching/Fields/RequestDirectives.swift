import HTTPSemantics
public import HTTPTypes

/// The cache directives of a request (RFC 9111 section 5.2.1, RFC 5861 section 4). Unknown ones are ignored.
public struct RequestDirectives: Sendable, Hashable {
    /// Whether and how far a stale response is accepted.
    public enum MaxStale: Sendable, Hashable {
        /// Not at all.
        case none
        /// Up to so many seconds.
        case seconds(Int)
        /// However stale it is.
        case any
    }

    /// The greatest age that is accepted. An invalid one accepts none.
    public var maxAge = DirectiveSeconds.absent
    /// For how long the response must remain fresh.
    public var minFresh = DirectiveSeconds.absent
    /// Whether and how far a stale response is accepted.
    public var maxStale = MaxStale.none
    /// For how long after its lifetime a response is accepted when the origin fails.
    public var staleIfError = DirectiveSeconds.absent
    /// Whether a stored response must be confirmed first; also said by `Pragma: no-cache` where there is no `Cache-Control`.
    public var noCache = false
    /// Whether the answer must not be stored.
    public var noStore = false
    /// Whether only a stored response is wanted.
    public var onlyIfCached = false
    /// Whether the answer must not be transformed on its way.
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
                    // Of several values the least is accepted; one that is no number accepts nothing.
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
