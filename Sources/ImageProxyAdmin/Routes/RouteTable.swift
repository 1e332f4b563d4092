import HTTPServer
import HTTPTypes

/// The routes of the admin listener: the action for a method and a path. HEAD is handled like GET; the connection omits
/// the content.
struct RouteTable: Sendable {
    typealias Action = @Sendable (AdminRequest) async throws -> Response

    private struct Route {
        var method: HTTPRequest.Method
        /// Segments that begin with a colon match any segment, and name it.
        var segments: [Substring]
        var action: Action
    }

    private var routes: [Route] = []

    mutating func get(_ path: String, _ action: @escaping Action) { add(.get, path, action) }
    mutating func post(_ path: String, _ action: @escaping Action) { add(.post, path, action) }
    mutating func delete(_ path: String, _ action: @escaping Action) { add(.delete, path, action) }

    private mutating func add(_ method: HTTPRequest.Method, _ path: String, _ action: @escaping Action) {
        routes.append(Route(method: method, segments: path.split(separator: "/"), action: action))
    }

    /// Performs the action of the matching route.
    ///
    /// - Throws: The action's error, or ``AdminError`` if there is no such route, or none for the method.
    func response(to request: AdminRequest) async throws -> Response {
        let segments = request.path.split(separator: "/")
        let method = request.method == .head ? .get : request.method
        var allowed: [HTTPRequest.Method] = []
        for route in routes where route.segments.count == segments.count {
            guard let parameters = Self.match(route.segments, segments) else { continue }
            guard route.method == method else {
                allowed += route.method == .get ? [.get, .head] : [route.method]
                continue
            }
            var request = request
            request.parameters = parameters
            return try await route.action(request)
        }
        guard allowed.isEmpty else { throw AdminError(method: request.method, allowed: allowed) }
        throw AdminError(.notFound, "not-found", "Not found.")
    }

    private static func match(_ pattern: [Substring], _ path: [Substring]) -> [Substring: Substring]? {
        var parameters: [Substring: Substring] = [:]
        for (wanted, segment) in zip(pattern, path) {
            if wanted.hasPrefix(":") {
                parameters[wanted.dropFirst()] = segment
            } else if wanted != segment {
                return nil
            }
        }
        return parameters
    }
}
