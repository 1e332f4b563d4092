import HTTPTypes

/// The head of a request, read strictly: what is here has one meaning only.
struct RequestHead: Sendable, Hashable {
    /// How the end of the content is found (RFC 9112 section 6).
    enum Framing: Sendable, Hashable {
        case none
        case length(Int)
        case chunked
    }

    /// What is asked for (RFC 9112 section 3.2). CONNECT's authority-form is refused earlier.
    enum Target: Sendable, Hashable {
        /// Path and query as sent, beginning with a slash; of an absolute-form, what follows its authority.
        case path(String)
        /// `*`: the server as a whole, with OPTIONS.
        case server
    }

    var method: HTTPRequest.Method
    var target: Target
    /// 0 or 1, of HTTP/1.
    var minorVersion: Int
    /// All fields as received, hop-by-hop ones included.
    var fields: HTTPFields
    /// The authority of an absolute-form, else Host's value; nil when HTTP/1.0 sent none.
    var authority: String?
    var framing: Framing
    /// Whether another request may follow on the connection.
    var keepsAlive: Bool
    /// Whether the client waits for 100 (Continue) before it sends its content (RFC 9110 section 10.1.1).
    var expectsContinue: Bool

    /// Path and query, or `*`.
    var targetText: String {
        switch target {
        case .path(let path): path
        case .server: "*"
        }
    }
}
