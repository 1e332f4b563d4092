import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// The state machine of one transfer over all its attempts: each event leads to the next ``Action``.
///
/// A value without I/O: no libcurl, sink or clock. Times and random numbers are arguments. The caller performs each action immediately. An event that
/// does not belong to the current state has no effect and returns ``Action/none``.
///
/// During an exchange, the machine does not wait for calls of the sink: only an error of a call is reported, at any later time. Between two exchanges,
/// the result of each call decides the next step.
///
///     ready ─start→ exchanging ─exchangeEnded→ awaitingSink ─sink's answers→ ready | finished
struct TransferStateMachine: Sendable {
    enum State: Sendable {
        /// No request is in progress: the transfer waits for a slot or for the end of a pause.
        case ready(Start)
        /// The transport is performing a request.
        case exchanging(Exchange, Stage)
        /// The sink was called, and its result decides the next step.
        case awaitingSink(Consultation)
        case finished
    }

    /// An instruction to the caller. Actions that call the sink name the event that reports the outcome.
    enum Action: Sendable {
        case none
        /// Calls ``BodySink/held()``; reported by ``learned(held:)``.
        case loadPartial
        /// Sends a request.
        case send(OutgoingRequest)
        /// Passes an interim response on.
        case passInterim(HTTPResponse.Status, HTTPFields)
        /// Calls ``BodySink/begin(_:_:)``. During an exchange a failure is reported by ``sinkFailed(_:isBodyOpen:)``; after it, the outcome by
        /// ``sinkSucceeded()`` or ``sinkFailed(_:isBodyOpen:)``.
        case beginBody(BodyStart)
        /// Ends the exchange early; reported by ``exchangeEnded(_:at:)``.
        case stop
        /// Calls ``BodySink/end(_:)`` after everything that was ordered before. Reported by ``sinkSucceeded()`` or
        /// ``sinkFailed(_:isBodyOpen:)``; the latter also in place of the call, if an earlier one has failed.
        case endBody(AttemptEnding)
        /// Calls ``BodySink/canRestart()`` and, where held bytes count, ``BodySink/held()``; reported by
        /// ``sinkCanRestart(held:random:at:)`` or ``sinkCannotRestart()``.
        case askCanRestart
        /// Calls ``start(at:date:)`` again in the same slot, without a pause. `restarting` is the reason for dropping held bytes, if any.
        case again(restarting: String?)
        /// Releases the slot, and calls ``start(at:date:)`` again after a pause.
        case wait(Duration, because: String)
        /// Ends the transfer.
        case finish(Result<TransferResult, TransferError>)
    }

    /// The parts of the engine's configuration that affect decisions.
    struct Rules {
        var signatures = SignatureParameters.known
        var addressPolicy = AddressPolicy.any
    }

    /// The length, in bytes, up to which bodies of redirects and error statuses are read to their end, so that the connection can be reused. For a
    /// longer body, the connection is closed.
    static let discardLimit: Int64 = 64 * 1024
    /// The time for which a redirect's body is read, so that the connection can be reused.
    static let redirectBodyTime = Duration.seconds(2)
    /// The number of responses with less than the requested range that a transfer accepts, whatever their length. For each further one,
    /// ``leastPart`` bytes must have been received.
    static let freeShortParts: Int64 = 100
    static let leastPart: Int64 = 16 * 1024

    let request: CheckedRequest
    let rules: Rules
    var history: History
    var state = State.ready(.first)

    var options: TransferOptions { request.options }

    init(_ request: CheckedRequest, rules: Rules = Rules(), startedAt: MonotonicTime) {
        self.request = request
        self.rules = rules
        history = History(options: request.options, startedAt: startedAt)
    }

    /// The current request; `nil` if the transport has none.
    var sent: SentRequest? {
        if case .exchanging(let exchange, _) = state { exchange.request } else { nil }
    }

    /// True as long as received lines belong to a head; false if they are trailers.
    var awaitsHead: Bool {
        if case .exchanging(_, .awaitingHead) = state { true } else { false }
    }

    /// True if a head is complete and was not judged yet, because another head may follow.
    var hasUnjudgedHead: Bool {
        if case .exchanging(_, .awaitingHead(let awaited)) = state, case .complete = awaited.head {
            true
        } else {
            false
        }
    }

    /// True if the current request has a complete head that is not interim.
    var hasHead: Bool {
        guard case .exchanging(_, let stage) = state else { return false }
        if case .awaitingHead(let awaited) = stage { return awaited.isComplete }
        return true
    }

    /// True when the call of the sink that was ordered last is the transfer's last one, whatever its outcome.
    var isCallingLast: Bool {
        if case .awaitingSink(.ending(let ended)) = state { ended.isLast } else { false }
    }

    // MARK: Ends

    /// Ends the transfer in any state. A body in progress is cut. Called before ``BodySink/end(_:)``, if that is the pending action.
    mutating func cancel() -> Action {
        switch state {
        case .finished: return .none
        case .exchanging(_, let stage) where stage.isBodyOpen:
            return endBody(.cancelled)
        case .awaitingSink(.ending(let ended)):
            state = .awaitingSink(.ending(.cancelled))
            return .endBody(ended.endingIfIncomplete)
        case .ready, .exchanging, .awaitingSink: return cancelled()
        }
    }

    mutating func cancelled() -> Action { fail(error(.cancelled, "the transfer was cancelled")) }

    mutating func fail(_ error: TransferError) -> Action { finish(.failure(error)) }

    mutating func finish(_ result: Result<TransferResult, TransferError>) -> Action {
        state = .finished
        return .finish(result)
    }

    // MARK: Results

    func result(_ outcome: TransferResult.Outcome, _ head: ResponseHead) -> TransferResult {
        TransferResult(
            head: head, outcome: outcome, bytesReceived: history.bytesReceived,
            resumedFrom: outcome == .body ? history.resumedFrom : 0, attempts: history.attempts,
            restarts: history.restarts)
    }

    func error(
        _ code: TransferError.Code, _ message: String, cause: (any Error)? = nil, isRetryable: Bool = false
    ) -> TransferError {
        var error = TransferError(code, url: request.url.text, message, cause: cause, isRetryable: isRetryable)
        error.bytesReceived = history.bytesReceived
        error.attempts = history.attempts
        error.isOfRedirectTarget = sent.map { !$0.hop.isOwnOrigin } ?? false
        return error
    }

    func refused(_ cause: any Error) -> TransferError {
        error(.refusedBySink, "the body could not be stored", cause: cause)
    }
}
