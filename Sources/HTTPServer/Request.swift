package import HTTPTypes

/// One request as an endpoint sees it: read whole, checked, and free of connections and sockets.
package struct Request: Sendable {
    package let head: RequestHead
    package let client: ClientAddress
    /// The connection's other end: the client, or the last of the trusted proxies.
    package let peer: ClientAddress
    /// The request's content, without transfer coding.
    package let content: [UInt8]
    /// The request's name in the logs of all machines: the client's, else one made here.
    package let id: String
    package let received: ContinuousClock.Instant
    /// Sends an interim response (1xx, RFC 9110 section 15.2) to the client, if it may still be sent; on any thread.
    package var interim: (@Sendable (HTTPResponse) -> Void)?

    package var method: HTTPRequest.Method { head.method }

    package init(
        head: RequestHead, client: ClientAddress, peer: ClientAddress, content: [UInt8], id: String,
        received: ContinuousClock.Instant
    ) {
        self.head = head
        self.client = client
        self.peer = peer
        self.content = content
        self.id = id
        self.received = received
    }
}
