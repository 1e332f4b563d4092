/// A handler of requests.
package protocol RequestHandler: Sendable {
    /// Returns the response if it is available at once: no waiting, no blocking, microseconds. Runs on the event loop.
    func readyResponse(to request: Request) -> Response?

    /// Returns the response. The calling task is cancelled when the client disconnects.
    func response(to request: Request) async -> Response
}
