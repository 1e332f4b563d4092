package import ConcurrencyPrimitives
package import HTTPTypes

/// A request as received by a handler: read completely, validated, and independent of connections.
package struct Request: Sendable {
    package var head: RequestHead
    /// The client that trusted proxies report, or the peer of the connection.
    package let client: ClientAddress
    /// The peer of the connection.
    package let peer: ClientAddress
    /// The address at which the connection reached this server; nil: unknown.
    package var local: ListenAddress?
    /// The request's content, without transfer coding.
    package let content: [UInt8]
    /// The request's id in the logs of all machines: the client's, else a generated one.
    package let id: String
    package let received: ContinuousClock.Instant
    /// Sends an interim response (1xx, RFC 9110 section 15.2) to the client, if that is still possible; callable on any
    /// thread.
    package var interim: (@Sendable (HTTPResponse) -> Void)?
    /// Receives the steps of the request; nil if it is not traced.
    package var steps: (any RequestStepRecorder)?

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
