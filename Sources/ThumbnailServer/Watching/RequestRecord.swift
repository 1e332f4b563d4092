import HTTPTypes

/// What became of one request: for the access log and for counting.
struct RequestRecord: Sendable {
    var client: ClientAddress
    /// The trusted proxy that it came through; nil: it came straight.
    var peer: ClientAddress?
    /// Nil when not even a request line could be read.
    var method: String?
    var target: String?
    var minorVersion: Int?
    var id: String
    var userAgent: String?
    var traceParent: String?
    var status: Int
    var outcome: CacheOutcome
    /// Bytes of the answer's content that the kernel took.
    var bytesSent: Int64
    /// From the request's last byte to the answer's first.
    var untilAnswer: Duration
    /// From the request's last byte to the answer's last.
    var duration: Duration
    var error: String?
    var detail: String?
    /// Whether the client was gone before the answer's end.
    var isCutShort: Bool
}
