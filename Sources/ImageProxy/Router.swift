package import ConcurrencyPrimitives
import FoundationEssentials
package import HTTPServer
import HTTPTypes
import URLSigning

/// Routes requests by host and path to an origin: `/image/OPTIONS/PATH` to its images, by PATH, `/zsync/VERSION/PATH` to its control files if it has
/// them, and everything else to its proxy. Image URLs of another service are translated before (``URLStyle``).
package struct Router: RequestHandler {
    private let current: Locked<OriginSet>
    /// Seconds since 1970, for the expiry of URLs.
    private let now: @Sendable () -> Int64

    package init(
        _ current: Locked<OriginSet>, now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) {
        self.current = current
        self.now = now
    }

    /// The path prefix of images.
    static let imagePrefix = "/image/"

    package func readyResponse(to incoming: Request) -> Response? {
        guard case .endpoint(let endpoint, let rules, let target) = destination(of: incoming),
            var response = endpoint.readyResponse(to: incoming.with(target))
        else { return nil }
        rules.apply(to: &response)
        return response
    }

    package func response(to incoming: Request) async -> Response {
        switch destination(of: incoming) {
        case .server: return Self.ownResponse(to: incoming.head)
        case .otherServer:
            return .failure(421, "misdirected", "The host of the request target is not this service.")
        case .none: return .failure(404, "no-origin", "No origin is configured for this host and path.")
        case .failure(var response, let rules):
            rules?.apply(to: &response)
            return response
        case .endpoint(let endpoint, let rules, let target):
            var response = await endpoint.response(to: incoming.with(target))
            rules.apply(to: &response)
            return response
        }
    }

    private enum Destination {
        /// The server answers the request itself.
        case server
        /// The request is for a host other than this service.
        case otherServer
        case none
        /// The URL of another service cannot be read, or has no signature.
        indirect case failure(Response, ResponseFieldRules?)
        /// `target` replaces the request's, if that was another service's URL.
        case endpoint(any RequestHandler, ResponseFieldRules, target: String?)
    }

    private func destination(of incoming: Request) -> Destination {
        let (head, origins) = (incoming.head, current.withLock { $0 })
        // An absolute target overrides `Host` (RFC 9112 section 3.2.2). Only clients of a forward proxy send one.
        if let scheme = head.scheme, let authority = head.authority,
            !origins.isOwn(authority, scheme: scheme, at: incoming.local)
        {
            return .otherServer
        }
        guard case .path(let target) = head.target, head.method != .trace, !Self.isLastHop(head) else { return .server }
        var (own, isVerified): (URLStyle.Translation?, Bool) = (nil, false)
        if let style = origins.urlStyle {
            do throws(ImageRequestError) { own = try style.translated(target, now: now()) } catch {
                let rules = origins.handlers(authority: head.authority, target: target)?.0.responseFields
                var response = Response(error)
                if style.name == .iiif { response.allowAllOrigins() }
                return .failure(response, rules)
            }
            isVerified = own != nil && style.verifies
        }
        guard let (handlers, kind) = origins.handlers(authority: head.authority, target: own?.target ?? target) else {
            return .none
        }
        let handler: any RequestHandler
        switch kind {
        case .file: handler = handlers.proxy
        case .image:
            guard isVerified || !handlers.takesVerifiedImagesOnly else {
                return .failure(Response(ImageRequestError.signature(.missing)), handlers.responseFields)
            }
            let images = isVerified ? handlers.verifiedImages : handlers.images
            if let url = own?.iiif {
                let proxies = handlers.proxy.options.trustedProxies
                let base = url.resource == .description ? origins.base(for: incoming, behind: proxies) : nil
                handler = IIIFEndpoint(images: images, url: url, base: base)
            } else if let expiry = own?.expiry {
                handler = ExpiringImages(images: images, expiry: expiry)
            } else {
                handler = images
            }
        case .controlFile: handler = ControlFileEndpoint(proxy: handlers.proxy)
        }
        return .endpoint(handler, handlers.responseFields, target: own?.target)
    }

    /// RFC 9110 section 7.6.2: requests with OPTIONS or TRACE and `Max-Forwards: 0` end here.
    private static func isLastHop(_ head: RequestHead) -> Bool {
        head.method == .options && head.fields[.maxForwards].flatMap { Int($0) } == 0
    }

    static let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

    private static func ownResponse(to head: RequestHead) -> Response {
        // TRACE would reveal fields that were added on the way, such as cookies, to the client (RFC 9110 section 9.3.8).
        guard head.method == .options else {
            return .failure(405, "trace", "TRACE is not supported.", fields: [.allow: allowed])
        }
        return Response(HTTPResponse(status: .noContent, headerFields: [.allow: allowed]))
    }
}

extension Request {
    /// The request with another target, or unchanged.
    func with(_ target: String?) -> Request {
        guard let target else { return self }
        var request = self
        request.head.target = .path(target)
        return request
    }
}
