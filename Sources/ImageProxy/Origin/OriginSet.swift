import ConcurrencyPrimitives
import HTTPSemantics
import HTTPServer
import HTTPTypes
package import ImageCache
import Synchronization
import Transfer

/// The origins of one configuration. A reload replaces the whole set; requests in progress keep the old one.
package final class OriginSet: Sendable {
    /// One pattern of an origin, and its rules.
    package struct Member: Sendable {
        package var pattern: OriginPattern
        package var gate: OriginGate
        package var proxy: ProxyEndpoint.Options
        package var images: ImageRules
        package var responseFields: ResponseFieldRules

        package init(
            pattern: OriginPattern, gate: OriginGate, proxy: ProxyEndpoint.Options, images: ImageRules,
            responseFields: ResponseFieldRules = ResponseFieldRules()
        ) {
            self.pattern = pattern
            self.gate = gate
            self.proxy = proxy
            self.images = images
            self.responseFields = responseFields
        }
    }

    /// The handlers of requests under one pattern.
    struct Handlers: Sendable {
        let proxy: ProxyEndpoint
        let images: ImageEndpoint
        /// The images whose URLs another service's signature has verified.
        let verifiedImages: ImageEndpoint
        /// True if the other service's signatures are the only ones, so that no other URL of an image is accepted.
        let takesVerifiedImagesOnly: Bool
        let responseFields: ResponseFieldRules
    }

    private final class Currency: Sendable {
        let isCurrent = Atomic<Bool>(true)
    }

    /// The origins, each once.
    package let gates: [OriginGate]
    let table: OriginTable<Handlers>
    private let rules: [ImageRules]
    private let publicHosts: AllowedHosts
    /// The other service whose image URLs are read as well.
    let urlStyle: URLStyle?
    private let currency: Currency

    /// - Parameters:
    ///   - members: The patterns, each once, in the order in which the origins are shown.
    ///   - publicHosts: The service's own names in addition to the patterns' names.
    ///   - urlStyle: Another service whose image URLs are read as well.
    ///   - renders: Counts the images that are rendered.
    package init(
        _ members: [Member], publicHosts: AllowedHosts = AllowedHosts([]), urlStyle: URLStyle? = nil,
        cache: DownloadCache,
        renders: RenderCounts = RenderCounts()
    ) {
        let currency = Currency()
        let isCurrent = { @Sendable in currency.isCurrent.load(ordering: .acquiring) }
        var seen: Set<ObjectIdentifier> = []
        gates = members.map(\.gate).filter { seen.insert(ObjectIdentifier($0)).inserted }
        rules = members.map(\.images)
        self.publicHosts = publicHosts
        self.urlStyle = urlStyle
        self.currency = currency
        table = OriginTable(
            members.map { member in
                let reference = GateReference(member.gate)
                var (proxy, images) = (member.proxy, member.images)
                (proxy.prefix, images.prefix) = (member.pattern.prefix, member.pattern.prefix)
                (proxy.namespace, images.namespace) = (member.gate.namespace, member.gate.namespace)
                (proxy.transfer.gate, images.transfer.gate) = (reference, reference)
                proxy.isCurrent = isCurrent
                let endpoint = ImageEndpoint(rules: images, cache: cache, renders: renders, isCurrent: isCurrent)
                var verified = endpoint
                let takesVerifiedOnly = images.signer == nil && urlStyle?.verifies == true
                if images.signer != nil, urlStyle?.verifies == true {
                    images.signer = nil
                    verified = ImageEndpoint(rules: images, cache: cache, renders: renders, isCurrent: isCurrent)
                }
                return (
                    member.pattern,
                    Handlers(
                        proxy: ProxyEndpoint(options: proxy, cache: cache),
                        images: endpoint, verifiedImages: verified, takesVerifiedImagesOnly: takesVerifiedOnly,
                        responseFields: member.responseFields)
                )
            })
    }

    /// Marks this configuration as replaced, so that none of its responses is replayed.
    package func retire() { currency.isCurrent.store(false, ordering: .releasing) }

    /// The most permissive verdict of any origin on an endpoint, for transfers without a client's request.
    package func verdict(on endpoint: AddressPolicy.Endpoint) -> AddressPolicy.Verdict {
        Self.verdict(of: rules, on: endpoint)
    }

    /// The most permissive verdict of any rules on an endpoint.
    package static func verdict(
        of rules: [ImageRules], on endpoint: AddressPolicy.Endpoint
    ) -> AddressPolicy.Verdict {
        let verdicts = rules.map { $0.verdict(on: endpoint) }
        if verdicts.contains(.anyAddress) { return .anyAddress }
        return verdicts.contains(.publicAddress) ? .publicAddress : .refused
    }

    /// True if the authority of an absolute request target belongs to this service (RFC 9110 section 7.4): it matches a pattern or the
    /// setting `public-hosts`, or it is the address at which the connection arrived.
    func isOwn(_ authority: String, scheme: String, at local: ListenAddress?) -> Bool {
        guard let field = HostField(authority.utf8) else { return false }
        if table.names(field) || scheme == "http" && local?.isNamed(by: field) == true { return true }
        return AllowedHosts.Endpoint(authority: authority, scheme: scheme).map(publicHosts.contains) ?? false
    }

    /// The scheme and the authority of this service as the client of a request knows them, such as `https://images.example.com`. nil if the request
    /// has no host, or one that is not in `public-hosts`, if there are any.
    ///
    /// - Parameter proxies: The proxies whose `X-Forwarded-Proto` is trusted.
    func base(for incoming: Request, behind proxies: TrustedProxies) -> String? {
        let head = incoming.head
        guard let authority = head.authority, !authority.isEmpty, HostField.isValid(authority.utf8) else { return nil }
        var scheme = head.scheme ?? "http"
        if proxies.contains(incoming.peer), let line = head.fields[values: .xForwardedProto].last,
            let nearest = line.split(separator: ",").last?.trimmed.lowercased(), ["http", "https"].contains(nearest)
        {
            scheme = nearest
        }
        guard publicHosts.isEmpty || isOwn(authority, scheme: scheme, at: incoming.local) else { return nil }
        return "\(scheme)://\(authority)"
    }

    /// The kinds of things that clients request.
    enum Kind: Sendable {
        case file
        case image
        case controlFile
    }

    /// The handlers of a request, and the kind of what it is for; nil if no pattern matches. Images and control files are routed by the path of their
    /// original.
    func handlers(authority: String?, target: String) -> (Handlers, Kind)? {
        if target.hasPrefix(Router.imagePrefix) {
            return table.value(authority: authority, target: Self.originalPath(of: target)).map { ($0, .image) }
        }
        if let (_, body) = ControlFiles.parts(of: target),
            let handlers = table.value(authority: authority, target: body),
            handlers.proxy.options.announcesControlFiles
        {
            return (handlers, .controlFile)
        }
        return table.value(authority: authority, target: target).map { ($0, .file) }
    }

    /// The path after the options of an image, or `/` if there is none, which leads to the error response.
    private static func originalPath(of target: String) -> String {
        let rest = target.utf8.dropFirst(Router.imagePrefix.utf8.count)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return "/" }
        return String(target[slash...])
    }

    /// Maps a client's target to the URL at its origin: of a file, or of the original of an image or control file. nil if there is none.
    ///
    /// - Parameter authority: `Host`.
    package func url(authority: String?, target: String) -> String? {
        let target = (try? urlStyle?.translated(target, now: nil)?.target) ?? target
        guard let (handlers, kind) = handlers(authority: authority, target: target) else { return nil }
        if kind == .image { return handlers.images.originalURL(of: target) }
        let options = handlers.proxy.options
        let file = kind == .controlFile ? ControlFiles.parts(of: target)?.body : target
        return file.flatMap { options.prefix.rest(of: $0) }.flatMap { options.origin.url(for: $0) }
    }

    /// The stored URLs that a client or an operator may mean by a URL: the URL itself and, if it is one of this service's, the URL of the
    /// file at its origin or of the image's original. The service may not know its own names, so the URL of an image counts as its own
    /// at any host.
    package func storedURLs(of url: String) -> [String] {
        guard let parsed = try? HTTPURL(url) else { return [url] }
        let (authority, target) = (String(parsed.authority), String(parsed.target))
        let isOwn = target.hasPrefix(Router.imagePrefix) || isOwn(authority, scheme: parsed.scheme.rawValue, at: nil)
        guard isOwn, let mapped = self.url(authority: authority, target: target), mapped != url else { return [url] }
        return [url, mapped]
    }
}

extension HTTPField.Name {
    fileprivate static let xForwardedProto = known("X-Forwarded-Proto")
}
