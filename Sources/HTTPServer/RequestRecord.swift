/// The outcome of one request, for logs and metrics.
package struct RequestRecord: Sendable {
    package var request: Request
    /// True if no request line could be parsed: method, target and fields are not the client's.
    package var isMalformed: Bool
    /// The status; 0 if the client disconnected before the response.
    package var status: Int
    /// The handler's outcome (``Response/outcome``).
    package var outcome: String?
    /// The number of content bytes accepted by the kernel.
    package var bytesSent: Int64
    /// The time from the request's last byte to the response's first.
    package var timeToResponse: Duration
    /// The time from the request's last byte to the response's last.
    package var duration: Duration
    package var error: String?
    package var detail: String?
    /// True if the client disconnected before the response's end.
    package var isCutShort: Bool

    package init(
        _ request: Request, isMalformed: Bool = false, status: Int, outcome: String? = nil, bytesSent: Int64 = 0,
        timeToResponse: Duration = .zero, duration: Duration = .zero, error: String? = nil, detail: String? = nil,
        isCutShort: Bool = false
    ) {
        self.request = request
        self.isMalformed = isMalformed
        self.status = status
        self.outcome = outcome
        self.bytesSent = bytesSent
        self.timeToResponse = timeToResponse
        self.duration = duration
        self.error = error
        self.detail = detail
        self.isCutShort = isCutShort
    }
}
