/// Answers requests.
package protocol Endpoint: Sendable {
    /// Returns the response if it is there at once: no waiting, no blocking, microseconds. Runs on the event loop.
    func readyResponse(to exchange: Exchange) -> Response?

    /// Returns the response. The calling task is cancelled when the client leaves.
    func response(to exchange: Exchange) async -> Response
}
