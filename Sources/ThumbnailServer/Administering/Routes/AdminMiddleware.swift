import HTTPServer
import HTTPTypes
import Hummingbird
import ImageCache
import Logging
import NIOCore

/// What holds for every request to the admin listener: who may come in, PURGE, how errors look, and what a browser may do with
/// the answer.
struct AdminMiddleware: RouterMiddleware {
    typealias Context = BasicRequestContext

    let routes: AdminRoutes

    func handle(
        _ request: AdminRequest, context: Context, next: (AdminRequest, Context) async throws -> AdminResponse
    ) async throws -> AdminResponse {
        var response: AdminResponse
        do {
            response = try await answer(request, context: context, next: next)
        } catch let error as AdminError {
            response = error.response
        } catch let error as ImageCacheError {
            routes.logger.warning("an admin request failed", metadata: ["error": "\(error)"])
            response = AdminError(.internalServerError, "\(error.code)", error.message).response
        } catch let error as HTTPError {
            response = AdminError(error.status, "not-found", error.body ?? "There is nothing here.").response
        }
        for field in Self.fields where response.headers[field.name] == nil {
            response.headers[field.name] = field.value
        }
        return response
    }

    private func answer(
        _ request: AdminRequest, context: Context, next: (AdminRequest, Context) async throws -> AdminResponse
    ) async throws -> AdminResponse {
        // Only a page with the token can send PURGE, under whatever name: no page of another place can even ask.
        if request.method.rawValue == "PURGE" { return try await routes.purge(request) }
        guard let host = request.head.authority.flatMap({ HostField($0.utf8) }), host.host != .name(""),
            HTTPField.Name("Host").map({ !request.headers.contains($0) }) ?? true
        else {
            throw AdminError(.badRequest, "bad-host", "The Host field is no host.")
        }
        guard routes.admission.admits(host) else {
            throw AdminError(
                .misdirectedRequest, "host",
                "The admin listener does not go by that name; admin-hosts lists those that it goes by.")
        }
        return try await next(request, context)
    }

    /// Nothing from elsewhere, no script or style in the page itself, and nothing of it in somebody else's.
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

    /// A name that is known to be one; should it not be, nothing worse than an unwanted field comes of it.
    private static func other(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .xContentTypeOptions }
}

/// An answer that says what was wrong with the request.
struct AdminError: Error {
    var status: HTTPResponse.Status
    var code: String
    var message: String

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String) {
        (self.status, self.code, self.message) = (status, code, message)
    }

    var response: AdminResponse {
        var response = AdminResponse.json(["error": code, "message": message], status: status)
        if status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }
}
