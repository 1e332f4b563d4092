import HTTPSemantics
import HTTPServer

/// A pattern for the requests that go to an origin: `/shop/` at any host, `photos.example`, `photos.example:8443/raw/`, `*.example.com`.
package struct OriginPattern: Sendable, Hashable {
    enum Host: Sendable, Hashable {
        case any
        case exact(HostField.Host)
        /// All names that end with this suffix, which begins with a dot.
        case below(String)
    }

    /// The reason why a text is not a valid pattern.
    package struct Failure: Error, Equatable {
        package let problem: String
    }

    let host: Host
    /// The port, or nil for any.
    let port: UInt16?
    package let prefix: PathPrefix

    /// The pattern that matches all requests.
    package static let everything = OriginPattern()

    private init() { (host, port, prefix) = (.any, nil, .root) }

    package init(_ text: String) throws(Failure) {
        let name = text.prefix { $0 != "/" }
        let path = text[name.endIndex...]
        guard let prefix = path.isEmpty ? .root : PathPrefix(path) else {
            throw Failure(
                problem: "must end with a slash, and have a path without a query, empty segments and dot segments")
        }
        guard prefix.text != Router.imagePrefix, !prefix.text.hasPrefix(Router.imagePrefix) else {
            throw Failure(problem: "must not be below /image/: images are /image/OPTIONS/shop/a.jpg")
        }
        self.prefix = prefix
        guard !name.isEmpty else {
            guard !path.isEmpty else { throw Failure(problem: "is empty") }
            (host, port) = (.any, nil)
            return
        }
        let isSuffix = name.hasPrefix("*.")
        guard let field = Self.field(isSuffix ? name.dropFirst(2) : name) else {
            throw Failure(problem: "must begin with a slash, a host, or a host and a port")
        }
        port = field.port
        guard isSuffix else {
            host = .exact(field.host)
            return
        }
        guard case .name(let name) = field.host else { throw Failure(problem: "has no names below an address") }
        host = .below("." + name)
    }

    /// Normalises a host to the form in which clients send it.
    private static func field(_ text: Substring) -> HostField? {
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        let ascii = isASCII ? text : (try? HTTPURL("http://\(text)/"))?.authority
        guard let field = ascii.flatMap({ HostField($0.utf8) }), field.host != .name("") else { return nil }
        return field
    }
}
