package import ConcurrencyPrimitives

/// Receives the outcome of requests, for logs and metrics. Called on event loops, so it must not block.
package protocol RequestObserver: Sendable {
    /// Called when a request is refused before it reaches the handler, and when a connection is refused, even without a response.
    func requestRefused(_ reason: RequestError.Reason)

    /// The receiver of a request's steps, if it is to be traced. Called before the handler, but not for a request that gets the same response as
    /// an earlier one.
    func steps(of request: Request) -> (any RequestStepRecorder)?

    /// Called once for each request, refused ones included, when its response has been sent or was abandoned.
    func requestEnded(_ record: RequestRecord)

    /// Called instead of ``requestEnded(_:)`` for a request that got the same response as an earlier one, unless
    /// ``readsRequests``.
    ///
    /// - Parameters:
    ///   - target: The request's target, as it came.
    ///   - outcome: The earlier response's ``Response/outcome``.
    ///   - duration: The time from the request's last byte to the response's last.
    func requestEnded(target: String, status: Int, outcome: String?, bytesSent: Int64, duration: Duration)

    /// True if the observer wants to know each request itself, not only its outcome.
    var readsRequests: Bool { get }
}

extension RequestObserver {
    package func requestEnded(target: String, status: Int, outcome: String?, bytesSent: Int64, duration: Duration) {}

    package func steps(of request: Request) -> (any RequestStepRecorder)? { nil }

    package var readsRequests: Bool { true }
}
