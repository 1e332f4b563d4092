/// A handler of requests.
package protocol RequestHandler: Sendable {
    /// Returns the response if it is available at once: no waiting, no blocking, microseconds. Runs on the event loop.
    func readyResponse(to request: Request) -> Response?

    /// False for a request that is answered even at the limits on running requests, such as a health check.
    func needsAdmission(_ request: Request) -> Bool

    /// Returns the response. The calling task is cancelled when the client disconnects.
    func response(to request: Request) async -> Response
}

extension RequestHandler {
    package func needsAdmission(_ request: Request) -> Bool { true }
}
