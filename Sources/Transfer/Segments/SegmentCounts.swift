/// The counts of a transfer over several connections, in one or more rounds.
struct SegmentCounts {
    /// The body bytes that the sink has.
    var held: Int64 = 0
    /// The bytes that were held before the transfer and not fetched again.
    var resumedFrom: Int64 = 0
    /// The bytes that all connections wrote or skipped. For a divided body, these are the received bytes: bytes behind a cut belong to another
    /// connection.
    var taken: Int64 = 0
    var isDivided = false
    private var streamBytes: Int64 = 0
    private var attempts = 0
    private var furtherAttempts = 0
    private var restarts: [String] = []

    /// Begins a body at byte 0.
    mutating func beginWhole() { (held, resumedFrom) = (0, 0) }

    /// Resumes a body. Bytes that an earlier stream of the same transfer received do not count as held before.
    mutating func begin(held: Int64) {
        if taken == 0 { resumedFrom = held }
        self.held = held
    }

    /// Adds the outcome of a stream.
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

    /// Adds the outcome of an additional connection.
    mutating func addFurther(_ outcome: Result<TransferResult, TransferError>) {
        switch outcome {
        case .success(let result): furtherAttempts += result.attempts
        case .failure(let error): furtherAttempts += error.attempts
        }
    }

    private var bytesReceived: Int64 { isDivided ? taken : streamBytes }

    /// The result of a body that all connections together received.
    func result(_ head: ResponseHead) -> TransferResult {
        TransferResult(
            head: head, outcome: .body, bytesReceived: bytesReceived, resumedFrom: resumedFrom,
            attempts: attempts + furtherAttempts, restarts: restarts)
    }

    /// The result of a stream, with the counts of all rounds.
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
    /// True if a connection ended at the end of its part of the body.
    var isEndOfSegment: Bool {
        switch self {
        case .success(let result): result.outcome == .body
        case .failure(let error): error.cause is SegmentEnd
        }
    }
}
