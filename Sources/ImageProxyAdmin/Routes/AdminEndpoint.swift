import HTTPServer
import HTTPTypes
import ImageCache
import Logging

/// Handles all requests to the admin listener: checks access, handles PURGE, formats errors, and adds fields that
/// restrict browsers to every response.
struct AdminEndpoint: RequestHandler {
    private let routes: AdminRoutes
    private let table: RouteTable

    init(_ routes: AdminRoutes) {
        self.routes = routes
        table = routes.table()
    }

    func readyResponse(to request: Request) -> Response? { nil }

    func response(to request: Request) async -> Response {
        var response: Response
        do {
            response = try await answer(AdminRequest(request))
        } catch let error as AdminError {
            response = error.response
        } catch let error as ImageCacheError {
            routes.logger.warning("an admin request failed", metadata: ["error": "\(error)"])
            response = .failure(500, "\(error.code)", error.message)
        } catch {
            routes.logger.warning("an admin request failed", metadata: ["error": "\(error)"])
            response = .failure(500, "internal", "The request could not be processed.")
        }
        for field in Self.fields where response.head.headerFields[field.name] == nil {
            response.head.headerFields[field.name] = field.value
        }
        return response
    }

    private func answer(_ request: AdminRequest) async throws -> Response {
        // PURGE requires the token, so the host name does not matter: pages of other sites cannot send it.
        if request.method.rawValue == "PURGE" { return try await routes.purge(request) }
        // The connection has checked that there is at most one Host, and a valid one.
        guard let host = request.incoming.head.authority.flatMap({ HostField($0.utf8) }), host.host != .name("") else {
            throw AdminError(.badRequest, "bad-host", "The Host field is invalid.")
        }
        guard routes.admission.admits(host) else {
            throw AdminError(
                .misdirectedRequest, "host",
                "The admin listener does not accept that host name; see admin-hosts.")
        }
        return try await table.response(to: request)
    }

    /// Content from other sites, inline scripts and styles, and embedding are forbidden.
    private static let fields: HTTPFields = [
        .contentSecurityPolicy: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            + "require-trusted-types-for 'script'; trusted-types 'none'",
        .xContentTypeOptions: "nosniff",
        .crossOriginResourcePolicy: "same-origin",
        .crossOriginOpenerPolicy: "same-origin",
        .referrerPolicy: "no-referrer",
        .cacheControl: "no-store",
    ]
}

extension HTTPField.Name {
    fileprivate static let crossOriginOpenerPolicy = other("Cross-Origin-Opener-Policy")
    fileprivate static let referrerPolicy = other("Referrer-Policy")

    /// Makes a name from a constant that is known to be valid. If it were not, the only consequence would be an unnecessary field.
    private static func other(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .xContentTypeOptions }
}

/// An error whose response describes the problem with the request.
struct AdminError: Error {
    var status: HTTPResponse.Status
    var code: String
    var message: String
    /// Further fields of the response.
    var fields: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String) {
        (self.status, self.code, self.message) = (status, code, message)
        if status == .unauthorized { fields[.wwwAuthenticate] = "Bearer" }
    }

    /// 405 (Method Not Allowed, RFC 9110 section 15.5.6).
    init(method: HTTPRequest.Method, allowed: [HTTPRequest.Method]) {
        self.init(.methodNotAllowed, "method", "The path does not support \(method.rawValue).")
        fields[.allow] = allowed.map(\.rawValue).joined(separator: ", ")
    }

    var response: Response { .failure(status.code, code, message, fields: fields) }
}
