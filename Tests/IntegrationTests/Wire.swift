import TestSupport

/// The protocol spoken with a real server.
enum Wire: String, CaseIterable, Sendable, CustomStringConvertible {
    case plain = "HTTP/1.1"
    case tls = "HTTP/1.1 over TLS"
    case http2 = "HTTP/2 over TLS"

    /// The version in the server's access log.
    var version: String { self == .http2 ? "HTTP/2.0" : "HTTP/1.1" }

    var description: String { rawValue }

    func apply(to options: inout Nginx.Options) async throws {
        guard self != .plain else { return }
        options.authority = try await TestCA()
        options.offersHTTP2 = self == .http2
    }
}
