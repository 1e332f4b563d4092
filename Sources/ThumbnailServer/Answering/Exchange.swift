import HTTPTypes

/// One request as an endpoint sees it: read whole, checked, and free of connections and sockets.
struct Exchange: Sendable {
    let head: RequestHead
    let client: ClientAddress
    /// The connection's other end: the client, or the last of the trusted proxies.
    let peer: ClientAddress
    /// The request's content, without transfer coding.
    let content: [UInt8]
    /// What logs on all machines name this request by: the client's, else one made here.
    let id: String
    let received: ContinuousClock.Instant
    /// Sends an interim response (1xx, RFC 9110 section 15.2) to the client, if it may still be sent; on any thread.
    var interim: (@Sendable (HTTPResponse) -> Void)?

    var method: HTTPRequest.Method { head.method }
}

/// Answers requests: the proxy, the images.
protocol Endpoint: Sendable {
    /// The answer, when it is there at once: no waiting, no blocking, microseconds. Runs on the event loop.
    func readyResponse(to exchange: Exchange) -> Response?
    /// The answer. The calling task is cancelled when the client leaves.
    func response(to exchange: Exchange) async -> Response
}
