/// The outcome of one request, for logs and metrics.
package struct RequestRecord: Sendable {
    package var request: Request
    /// True if not even a request line could be read: method, target and fields are not the client's.
    package var isMalformed: Bool
    /// 0: the client left before there was a response.
    package var status: Int
    /// The handler's word for how it came by the response (``Response/outcome``).
    package var outcome: String?
    /// Bytes of the response's content that the kernel took.
    package var bytesSent: Int64
    /// From the request's last byte to the response's first.
    package var timeToResponse: Duration
    /// From the request's last byte to the response's last.
    package var duration: Duration
    package var error: String?
    package var detail: String?
    /// True if the client was gone before the response's end.
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
