package import HTTPServer
import HTTPTypes
package import ImageCache

/// Answers health checks on the port of clients, at paths of the operator's choice, in front of another handler.
package struct HealthPaths: RequestHandler {
    private let base: any RequestHandler
    private let health: String?
    private let ready: String?
    private let readiness: Readiness
    private let cache: DownloadCache

    /// - Parameters:
    ///   - health: The path that is 200 while the process lives; `nil` for none.
    ///   - ready: The path that is 200 if the service is ready, and otherwise 503; `nil` for none.
    package init(
        before base: any RequestHandler, health: String?, ready: String?, _ administration: Administration,
        cache: DownloadCache
    ) {
        self.base = base
        self.health = health
        self.ready = ready
        readiness = administration.readiness
        self.cache = cache
    }

    package func readyResponse(to request: Request) -> Response? {
        guard let path = path(of: request) else { return base.readyResponse(to: request) }
        return path == health ? Self.response(.ready, to: request) : nil
    }

    package func needsAdmission(_ request: Request) -> Bool {
        path(of: request) == nil && base.needsAdmission(request)
    }

    package func response(to request: Request) async -> Response {
        guard let path = path(of: request), path == ready else { return await base.response(to: request) }
        return Self.response(await readiness.state(with: cache), to: request)
    }

    /// The path of a health check; `nil` for all other requests.
    private func path(of request: Request) -> String? {
        guard health != nil || ready != nil, case .path(let target) = request.head.target,
            request.method == .get || request.method == .head
        else { return nil }
        let path = String(target.prefix { $0 != "?" })
        return path == health || path == ready ? path : nil
    }

    private static func response(_ state: Readiness.State, to request: Request) -> Response {
        let text = Array("\(state == .ready ? "ok" : state.rawValue)\n".utf8)
        let fields: HTTPFields = [
            .contentType: "text/plain; charset=utf-8", .cacheControl: "no-store", .contentLength: "\(text.count)",
        ]
        return Response(
            HTTPResponse(status: state == .ready ? .ok : .serviceUnavailable, headerFields: fields),
            body: request.method == .head ? .none : .bytes(text))
    }
}
