/// Query parameters that authorise a request without identifying the resource. They are the parameters of signed URLs, which differ each
/// time one is generated.
///
/// A validator is unique only within its resource (RFC 9110 section 8.8.3). A partial is therefore resumed, and a stored body confirmed by
/// a 304, only if the final URL belongs to the same resource. `isSameResource(_:_:)` compares the whole URL except for these parameters,
/// and treats a scheme's parameters as a signature only if its marks are present.
///
///     configuration.rules.signatures.schemes.append(
///         .init("our CDN", marks: ["token"], others: ["expires"]))
public struct SignatureParameters: Sendable, Hashable {
    /// A scheme for signing URLs.
    public struct Scheme: Sendable, Hashable {
        /// A parameter and the form of its value.
        public struct Mark: Sendable, Hashable, ExpressibleByStringLiteral {
            enum Form: Sendable, Hashable {
                case any
                /// `2021-08-06`
                case date
                case beginning(String)
                case containing(String)
            }

            let name: String
            let form: Form

            init(_ name: String, _ form: Form) {
                self.name = name
                self.form = form
            }

            /// A parameter with any value that is not empty.
            public init(stringLiteral name: String) { self.init(name, .any) }
        }

        /// The service's name, for display.
        public let name: String
        /// The parameters that must all be present.
        public let marks: [Mark]
        /// Further parameters of the signature. A `*` in a name matches any text.
        public let others: Set<String>
        /// The hosts whose URLs are signed so; empty: any.
        public let hosts: [HostPattern]
        private let patterns: [NamePattern]

        public init(_ name: String, marks: [Mark], others: Set<String> = [], hosts: [HostPattern] = []) {
            self.name = name
            self.marks = marks
            self.others = others
            self.hosts = hosts
            patterns = others.filter(NamePattern.isPattern).sorted().map(NamePattern.init)
        }

        /// A single parameter that never identifies the resource.
        public init(parameter name: String) { self.init(name, marks: [Mark(name, .any)]) }

        /// Parameters that never identify the resource, whatever their values and however often they occur. A `*` in a name matches any
        /// text.
        public init(ignoring names: Set<String>, hosts: [HostPattern] = []) {
            self.init("ignored", marks: [], others: names, hosts: hosts)
        }

        /// Returns true if a parameter belongs to the signature.
        func has(_ name: String) -> Bool {
            others.contains(name) || marks.contains { $0.name == name } || patterns.contains { $0.matches(name) }
        }
    }

    /// `nil`: the known ones. They are made when a URL with a query is first compared: most processes compare none.
    private var chosen: [Scheme]?

    /// The schemes that are recognised. Their order is irrelevant; a URL may be signed in several ways.
    public var schemes: [Scheme] {
        get { chosen ?? Scheme.known }
        set { chosen = newValue }
    }

    private init() {}

    public init(schemes: [Scheme]) { chosen = schemes }

    /// The schemes of S3, Google Cloud Storage, Azure, CloudFront and Akamai, and of services that use them.
    public static let known = SignatureParameters()

    public static func == (one: Self, other: Self) -> Bool {
        one.chosen == nil && other.chosen == nil || one.schemes == other.schemes
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(schemes) }

    /// Returns true if two final URLs identify one resource: the same scheme, host, port and path, and the same query
    /// apart from signatures.
    public func isSameResource(_ one: HTTPURL, _ other: HTTPURL) -> Bool {
        if one.normalized == other.normalized { return true }
        guard one.hasSameOrigin(as: other), one.path.utf8.elementsEqual(other.path.utf8) else { return false }
        return unsigned(one) == unsigned(other)
    }

    /// Compares URLs in stored form. A text that is not a URL identifies no resource.
    public func isSameResource(_ one: String, _ other: String) -> Bool {
        if one.utf8.elementsEqual(other.utf8) { return true }
        guard let one = try? HTTPURL(one), let other = try? HTTPURL(other) else { return false }
        return isSameResource(one, other)
    }

    /// The parameters in their order, byte for byte, without those of signatures. `nil` if there is no query, or if it contains only a
    /// signature.
    package func unsigned(_ url: HTTPURL) -> [QueryParameter]? {
        guard let query = url.query else { return nil }
        let parameters = QueryParameter.all(of: query)
        let host = url.host
        let present = schemes.filter { $0.applies(at: host) && $0.isPresent(in: parameters) }
        guard !present.isEmpty else { return parameters }
        let rest = parameters.filter { parameter in !present.contains { $0.has(parameter.name) } }
        return rest.isEmpty ? nil : rest
    }
}

/// `name=value` of a query, as it is spelled there.
package struct QueryParameter: Sendable, Hashable {
    package let bytes: [UInt8]
    let name: String
    let value: String

    /// The parameters of a query in their order, empty ones too.
    static func all(of query: Substring) -> [QueryParameter] {
        query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map(QueryParameter.init)
    }

    init(_ text: Substring.UTF8View) {
        bytes = Array(text)
        let end = text.firstIndex(of: UInt8(ascii: "=")) ?? text.endIndex
        name = String(Substring(text[..<end]))
        value = end < text.endIndex ? String(Substring(text[text.index(after: end)...])) : ""
    }
}

extension QueryParameter {
    /// The order of names, byte by byte.
    package func precedes(_ other: QueryParameter) -> Bool {
        name.utf8.lexicographicallyPrecedes(other.name.utf8)
    }
}

extension SignatureParameters.Scheme {
    /// Returns true if each mark occurs exactly once: with two, it is undefined which one a server uses.
    func isPresent(in parameters: [QueryParameter]) -> Bool {
        marks.allSatisfy { mark in
            let named = parameters.filter { $0.name == mark.name }
            return named.count == 1 && named.allSatisfy { mark.form.fits($0.value) }
        }
    }

    func applies(at host: String) -> Bool { hosts.isEmpty || hosts.contains { $0.matches(host) } }
}

extension SignatureParameters.Scheme.Mark.Form {
    func fits(_ value: String) -> Bool {
        switch self {
        case .any: !value.isEmpty
        case .date:
            value.utf8.count == 10
                && value.utf8.enumerated().allSatisfy { $0 == 4 || $0 == 7 ? $1 == UInt8(ascii: "-") : $1.isDigit }
        case .beginning(let text): value.utf8.starts(with: text.utf8)
        case .containing(let text): value.contains(text)
        }
    }
}
