import HTTPSemantics
import HTTPServer
import HTTPTypes
import ImageProxy

/// A request to the admin listener, with a parsed target.
struct AdminRequest: Sendable {
    let incoming: Request
    /// As sent, without the query.
    let path: Substring
    private let query: Substring
    /// The path's segments named by the route, as sent.
    var parameters: [Substring: Substring] = [:]

    init(_ incoming: Request) {
        self.incoming = incoming
        let target = incoming.head.targetText
        path = target.prefix { $0 != "?" }
        query = target[path.endIndex...].dropFirst()
    }

    var method: HTTPRequest.Method { incoming.method }
    var fields: HTTPFields { incoming.head.fields }

    /// A parameter of the query, percent-decoded; the first one of several.
    func query(_ name: String) -> String? {
        for pair in query.split(separator: "&") where pair.prefix(while: { $0 != "=" }) == name {
            let value = pair.dropFirst(name.count + 1)
            return PercentEncoding.strictlyDecoded(value.utf8).flatMap { String(validating: $0, as: UTF8.self) }
                ?? String(value)
        }
        return nil
    }
}
