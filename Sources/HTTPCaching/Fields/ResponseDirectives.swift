import HTTPSemantics
public import HTTPTypes

/// The cache directives of a response (RFC 9111 section 5.2.2, RFC 5861, RFC 8246). Unknown ones are ignored.
public struct ResponseDirectives: Sendable, Hashable {
    /// The freshness lifetime.
    public var maxAge = DirectiveSeconds.absent
    /// The freshness lifetime in shared caches.
    public var sharedMaxAge = DirectiveSeconds.absent
    /// The time after the lifetime for which it may be served while it is revalidated in the background.
    public var staleWhileRevalidate = DirectiveSeconds.absent
    /// The time after the lifetime for which it may be served when the origin fails.
    public var staleIfError = DirectiveSeconds.absent
    /// Directives without an argument, and the unqualified forms of those that may have one.
    public var flags: Flags = []
    /// The fields that `private="…"` names, in lower case.
    public var privateFields: [String] = []
    /// The fields that `no-cache="…"` names, in lower case.
    public var noCacheFields: [String] = []

    /// Directives that are present or absent.
    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        public static var `public`: Self { Self(rawValue: 1 << 0) }
        public static var `private`: Self { Self(rawValue: 1 << 1) }
        public static var noStore: Self { Self(rawValue: 1 << 2) }
        public static var noCache: Self { Self(rawValue: 1 << 3) }
        public static var mustRevalidate: Self { Self(rawValue: 1 << 4) }
        public static var proxyRevalidate: Self { Self(rawValue: 1 << 5) }
        public static var mustUnderstand: Self { Self(rawValue: 1 << 6) }
        public static var immutable: Self { Self(rawValue: 1 << 7) }
        public static var noTransform: Self { Self(rawValue: 1 << 8) }
    }

    public init() {}

    /// The directives of all `Cache-Control` lines of a response.
    public init(_ fields: HTTPFields) {
        for field in fields where field.name.isNamed("cache-control") {
            field.withUnsafeBytesOfValue { read($0) }
        }
    }

    mutating func read(_ line: UnsafeBufferPointer<UInt8>) {
        forEachDirective(line) { add($0) }
    }

    mutating func add(_ directive: ScannedDirective) {
        let name = directive.name
        switch name.count {
        case 6: if name.isName("public") { flags.insert(.public) }
        case 7:
            if name.isName("max-age") {
                maxAge.merge(directive.seconds)
            } else if name.isName("private") {
                if let names = directive.fieldNames { privateFields += names } else { flags.insert(.private) }
            }
        case 8:
            if name.isName("no-cache") {
                if let names = directive.fieldNames { noCacheFields += names } else { flags.insert(.noCache) }
            } else if name.isName("no-store") {
                flags.insert(.noStore)
            } else if name.isName("s-maxage") {
                sharedMaxAge.merge(directive.seconds)
            }
        case 9: if name.isName("immutable") { flags.insert(.immutable) }
        case 12: if name.isName("no-transform") { flags.insert(.noTransform) }
        case 14: if name.isName("stale-if-error") { staleIfError.merge(directive.seconds) }
        case 15:
            if name.isName("must-revalidate") {
                flags.insert(.mustRevalidate)
            } else if name.isName("must-understand") {
                flags.insert(.mustUnderstand)
            }
        case 16: if name.isName("proxy-revalidate") { flags.insert(.proxyRevalidate) }
        case 22: if name.isName("stale-while-revalidate") { staleWhileRevalidate.merge(directive.seconds) }
        default: break
        }
    }
}
