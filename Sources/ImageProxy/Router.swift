package import HTTPServer
import HTTPTypes

/// Routes requests: `/image/…` to the image endpoint, everything else to the proxy.
package struct Router: RequestHandler {
    let proxy: any RequestHandler
    /// The handler of images; nil: images are disabled, and `/image/` belongs to the origin.
    let images: (any RequestHandler)?

    package init(proxy: any RequestHandler, images: (any RequestHandler)?) {
        self.proxy = proxy
        self.images = images
    }

    /// The path prefix of images.
    static let imagePrefix = "/image/"

    package func readyResponse(to incoming: Request) -> Response? {
        guard let endpoint = endpoint(for: incoming.head) else { return nil }
        return endpoint.readyResponse(to: incoming)
    }

    package func response(to incoming: Request) async -> Response {
        guard let endpoint = endpoint(for: incoming.head) else { return Self.ownResponse(to: incoming.head) }
        return await endpoint.response(to: incoming)
    }

    /// nil: the server responds itself.
    private func endpoint(for head: RequestHead) -> (any RequestHandler)? {
        guard case .path(let path) = head.target, head.method != .trace, !Self.isLastHop(head) else { return nil }
        if let images, path.hasPrefix(Self.imagePrefix) { return images }
        return proxy
    }

    /// RFC 9110 section 7.6.2: with OPTIONS and TRACE, `Max-Forwards: 0` ends here.
    private static func isLastHop(_ head: RequestHead) -> Bool {
        head.method == .options && head.fields[.maxForwards].flatMap { Int($0) } == 0
    }

    static let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

    private static func ownResponse(to head: RequestHead) -> Response {
        // TRACE would reveal fields added on the way, cookies among them, to the client (RFC 9110 section 9.3.8).
        guard head.method == .options else {
            return .failure(405, "trace", "TRACE is not supported.", fields: [.allow: allowed])
        }
        return Response(HTTPResponse(status: .noContent, headerFields: [.allow: allowed]))
    }
}
