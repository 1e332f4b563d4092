package import HTTPTypes

/// A response to a request. The connection adds what belongs to the connection: Content-Length where it is known,
/// Transfer-Encoding, Connection, Date, the request id.
package struct Response: Sendable {
    package enum Body: Sendable {
        /// No content, and none may follow: HEAD, 204, 304.
        case none
        case bytes([UInt8])
        /// Content that is written while it is made or arrives, and its length in bytes, if that is known. What it throws
        /// leaves the message without a proper end (RFC 9112 section 8).
        case stream(length: Int64?, @Sendable (any ResponseBodyWriter) async throws -> Void)
    }

    package var head: HTTPResponse
    package var body: Body
    /// The handler's word for how it came by the response, for logs and metrics.
    package var outcome: String?
    /// The error's code, as the JSON body has it.
    package var error: String?
    /// The error's details, for the log alone.
    package var detail: String?
    /// This server's member of Via when it passes on somebody else's response (RFC 9110 section 7.6.3). It is added as the
    /// head is written, so that fields that many responses share are not copied for it.
    package var via: String?
    /// True if the connection ends with this response.
    package var closes = false

    package init(_ head: HTTPResponse, body: Body = .none) {
        self.head = head
        self.body = body
    }

    /// An error for a client to read: `{"error":"<code>","message":"…"}`, not to be cached.
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
