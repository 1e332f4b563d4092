/// The counts of a transfer over several connections, and perhaps several rounds.
struct SegmentCounts {
    /// Bytes of the body that the sink has.
    var held: Int64 = 0
    /// Bytes that were held before the transfer, and were not fetched again.
    var resumedFrom: Int64 = 0
    /// Bytes that connections other than the stream received.
    var furtherBytes: Int64 = 0
    /// Bytes of the piece that the stream is giving to the sink.
    var present: Int64 = 0
    /// Bytes that the stream received with the piece that ended it: the transport does not count those.
    var lastPieces: Int64 = 0
    private var streamBytes: Int64 = 0
    private var attempts = 0
    private var furtherAttempts = 0
    private var restarts: [String] = []

    /// A body begins at its first byte.
    mutating func beginWhole() { (held, resumedFrom) = (0, 0) }

    /// A body is continued. What an earlier stream of the same transfer has received was not held before.
    mutating func begin(held: Int64) {
        if streamBytes + furtherBytes + lastPieces == 0 { resumedFrom = held }
        self.held = held
    }

    /// A stream has ended.
    mutating func add(_ outcome: Result<TransferResult, TransferError>) {
        switch outcome {
        case .success(let result):
            streamBytes += result.bytesReceived
            attempts += result.attempts
            restarts += result.restarts
        case .failure(let error):
            streamBytes += error.bytesReceived
            attempts += error.attempts
        }
    }

    /// A further connection has ended.
    mutating func addFurther(_ outcome: Result<TransferResult, TransferError>) {
        switch outcome {
        case .success(let result): furtherAttempts += result.attempts
        case .failure(let error): furtherAttempts += error.attempts
        }
    }

    private var bytesReceived: Int64 { streamBytes + furtherBytes + lastPieces }

    /// The result of a body that all connections together have brought.
    func result(_ head: ResponseHead) -> TransferResult {
        TransferResult(
            head: head, outcome: .body, bytesReceived: bytesReceived, resumedFrom: resumedFrom,
            attempts: attempts + furtherAttempts, restarts: restarts)
    }

    /// A stream's result, with what came before it.
    func completed(_ result: TransferResult) -> TransferResult {
        var result = result
        result.bytesReceived = bytesReceived
        result.attempts = attempts + furtherAttempts
        result.restarts = restarts
        if result.outcome == .body { result.resumedFrom = min(result.resumedFrom, resumedFrom) }
        return result
    }

    func completed(_ error: TransferError) -> TransferError {
        var error = error
        error.bytesReceived = bytesReceived
        error.attempts = attempts + furtherAttempts
        return error
    }
}

extension Result<TransferResult, TransferError> {
    /// True if a connection ended because its part of the body did.
    var isEndOfSegment: Bool {
        switch self {
        case .success(let result): result.outcome == .body
        case .failure(let error): error.cause is SegmentEnd
        }
    }
}
