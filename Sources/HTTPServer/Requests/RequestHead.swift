package import HTTPTypes

/// The head of a request, parsed strictly: all values are unambiguous.
package struct RequestHead: Sendable, Hashable {
    /// The framing of the content (RFC 9112 section 6).
    package enum Framing: Sendable, Hashable {
        case none
        case length(Int)
        case chunked
    }

    /// The request target (RFC 9112 section 3.2). CONNECT's authority-form is refused earlier.
    package enum Target: Sendable, Hashable {
        /// Path and query as sent, with a leading slash; for an absolute-form, the part after its authority.
        case path(String)
        /// `*`: the server as a whole, with OPTIONS.
        case server
    }

    package var method: HTTPRequest.Method
    package var target: Target
    /// 0 or 1, of HTTP/1.
    package var minorVersion: Int
    /// All fields as received, hop-by-hop ones included.
    package var fields: HTTPFields
    /// The authority of an absolute-form, else Host's value; nil if HTTP/1.0 sent none.
    package var authority: String?
    /// The scheme of an absolute-form; nil for the other forms.
    package var scheme: String?
    package var framing: Framing
    /// True if another request may follow on the connection.
    package var keepsAlive: Bool
    /// True if the client waits for 100 (Continue) before it sends its content (RFC 9110 section 10.1.1).
    package var expectsContinue: Bool

    package init(
        method: HTTPRequest.Method, target: Target, minorVersion: Int = 1, fields: HTTPFields = [:],
        authority: String? = nil, scheme: String? = nil, framing: Framing = .none, keepsAlive: Bool = false,
        expectsContinue: Bool = false
    ) {
        self.method = method
        self.target = target
        self.minorVersion = minorVersion
        self.fields = fields
        self.authority = authority
        self.scheme = scheme
        self.framing = framing
        self.keepsAlive = keepsAlive
        self.expectsContinue = expectsContinue
    }

    /// Path and query, or `*`.
    package var targetText: String {
        switch target {
        case .path(let path): path
        case .server: "*"
        }
    }
}
