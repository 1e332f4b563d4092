/// The state of the request that a connection is handling, and of its response.
struct RequestContext {
    let request: Request
    var keepsAlive: Bool
    var framing = ResponseFraming.none
    var status = 0
    var outcome: String?
    var error: String?
    var detail: String?
    var answered: ContinuousClock.Instant?
    /// The number of content bytes passed to the kernel.
    var bytesSent: Int64 = 0
    /// The time that the client took to accept the pieces so far.
    var clientsTime = Duration.zero
    /// True if the request could not be parsed: its method and target are unknown.
    var isMalformed = false
    /// True if no content may be sent: HEAD, 204, 304.
    var isWithoutContent = false

    init(_ request: Request) {
        self.request = request
        keepsAlive = request.head.keepsAlive
    }

    func record(at end: ContinuousClock.Instant, isCutShort: Bool) -> RequestRecord {
        RequestRecord(
            request, isMalformed: isMalformed, status: status, outcome: outcome, bytesSent: bytesSent,
            timeToResponse: (answered ?? end) - request.received, duration: end - request.received, error: error,
            detail: detail, isCutShort: isCutShort)
    }
}
