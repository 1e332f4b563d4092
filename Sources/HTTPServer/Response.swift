package import HTTPTypes

/// A response to a request. The connection adds its own fields: Content-Length if known, Transfer-Encoding, Connection,
/// Date, the request id.
package struct Response: Sendable {
    package enum Body: Sendable {
        /// No content, and none may follow: HEAD, 204, 304.
        case none
        case bytes([UInt8])
        /// A range of an open file.
        case file(FileContent)
        /// Content that is written while it is generated or arrives, and its length in bytes, if known. An error leaves
        /// the message incomplete (RFC 9112 section 8).
        case stream(length: Int64?, @Sendable (any ResponseBodyWriter) async throws -> Void)
    }

    /// A range of a file, and the owner of its descriptor, which is retained until the range has been sent.
    package struct FileContent: Sendable {
        let descriptor: Int32
        let range: Range<Int64>
        private let owner: any Sendable

        package init(_ descriptor: Int32, _ range: Range<Int64>, ownedBy owner: any Sendable) {
            self.descriptor = descriptor
            self.range = range
            self.owner = owner
        }
    }

    package var head: HTTPResponse
    package var body: Body
    /// The origin of the response according to the handler, for logs and metrics.
    package var outcome: String?
    /// The error's code in the JSON body.
    package var error: String?
    /// The error's details, for the log only.
    package var detail: String?
    /// This server's member of Via for a forwarded response (RFC 9110 section 7.6.3). It is added while the head is
    /// written, so that fields shared by many responses need not be copied.
    package var via: String?
    /// True to close the connection after this response.
    package var closes = false
    /// The terms on which the response may be replayed without calling the handler, or nil if it may not. Used only for responses of
    /// ``RequestHandler/readyResponse(to:)``.
    package var reuse: ResponseReuse?

    package init(_ head: HTTPResponse, body: Body = .none) {
        self.head = head
        self.body = body
    }

    /// An error response: `{"error":"<code>","message":"…"}`, not cacheable.
    package static func failure(
        _ status: Int, _ code: String, _ message: String, fields: HTTPFields = [:]
    ) -> Response {
        var head = HTTPResponse(status: .init(integerLiteral: status), headerFields: fields)
        head.headerFields[.contentType] = "application/json"
        head.headerFields[.cacheControl] = "no-store"
        var writer = JSONLine()
        writer.add("error", code)
        writer.add("message", message)
        var response = Response(head, body: .bytes(writer.finished()))
        response.error = code
        return response
    }
}
