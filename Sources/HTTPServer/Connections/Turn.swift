/// The request that a connection is answering, and how far the answer is.
struct Turn {
    let exchange: Exchange
    var keepsAlive: Bool
    var framing = ResponseFraming.none
    var status = 0
    var outcome: String?
    var error: String?
    var detail: String?
    var answered: ContinuousClock.Instant?
    /// Bytes of content that were given to the kernel.
    var bytesSent: Int64 = 0
    /// How long the client took to take the pieces that were written so far.
    var clientsTime = Duration.zero
    /// Whether the request could not be read: its method and target are not known.
    var isMalformed = false
    /// Whether no byte of content may be sent: HEAD, 204, 304.
    var isWithoutContent = false

    init(_ exchange: Exchange) {
        self.exchange = exchange
        keepsAlive = exchange.head.keepsAlive
    }

    func record(at end: ContinuousClock.Instant, isCutShort: Bool) -> RequestRecord {
        RequestRecord(
            exchange, isMalformed: isMalformed, status: status, outcome: outcome, bytesSent: bytesSent,
            untilAnswer: (answered ?? end) - exchange.received, duration: end - exchange.received, error: error,
            detail: detail, isCutShort: isCutShort)
    }
}
