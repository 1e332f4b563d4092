/// Receives the outcome of requests, for logs and metrics. Called on event loops, so it must not block.
package protocol RequestObserver: Sendable {
    /// Called when a request, or a connection, is refused before it reaches the handler.
    func requestRefused(_ reason: RequestError.Reason)

    /// Called once for each request, refused ones included, when its response has been sent or was abandoned.
    func requestEnded(_ record: RequestRecord)
}
