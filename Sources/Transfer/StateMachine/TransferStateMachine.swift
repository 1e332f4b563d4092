import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// The decisions of one transfer, over all its attempts: events go in, the next ``Action`` comes out.
///
/// A value without I/O: no libcurl, no sink, no clock; times and random numbers are arguments. The caller performs each action at
/// once. Where an action calls the sink, the caller reports the outcome before any other event. An event that does not belong
/// to the present state changes nothing and yields ``Action/none``.
///
///     ready ─start→ exchanging ─exchangeEnded→ consulting ─sink's answers→ ready | finished
struct TransferStateMachine {
    enum State {
        /// No request is being sent: the transfer waits for a slot, or for the end of a pause.
        case ready(Start)
        /// A request is with the transport.
        case exchanging(Exchange, Stage)
        /// The sink was called, and its answer decides.
        case consulting(Consultation)
        case finished
    }

    /// An order to the caller. Those that call the sink say which event reports the outcome.
    enum Action {
        case none
        /// Calls ``BodySink/held()``; reported by ``learned(held:)``.
        case askHeld
        /// Sends a request.
        case send(OutgoingRequest)
        /// Passes an interim response on.
        case passInterim(HTTPResponse.Status, HTTPFields)
        /// Calls ``BodySink/begin(_:_:)``; reported by ``sinkSucceeded(at:)`` or ``sinkFailed(_:)``.
        case beginBody(BodyStart)
        /// Ends the exchange early; reported by ``exchangeEnded(_:retryAfter:at:)``.
        case stop
        /// Calls ``BodySink/end(_:)``; reported by ``sinkSucceeded(at:)`` or ``sinkFailed(_:)``.
        case endBody(AttemptEnding)
        /// Calls ``BodySink/canRestart()`` and, where held bytes count, ``BodySink/held()``; reported by
        /// ``sinkCanRestart(held:random:at:)`` or ``sinkCannotRestart()``.
        case askForAnother
        /// Calls ``start(at:date:)`` again at once, in the same slot. `restarting`: why held bytes were dropped.
        case again(restarting: String?)
        /// Gives the slot back, and calls ``start(at:date:)`` again after a pause.
        case wait(Duration, because: String)
        /// Ends the transfer.
        case finish(Result<TransferResult, TransferError>)
    }

    /// The parts of the engine's configuration that decide something.
    struct Rules {
        var signatures = SignatureParameters.known
        var addressPolicy = AddressPolicy.any
    }

    /// Bodies of redirects and of error statuses are read to their end when they are this short, so that the connection can be
    /// used again; a longer one costs the connection.
    static let discardLimit: Int64 = 64 * 1024
    /// The time for which a redirect's body is read, so that its connection can be used again.
    static let redirectBodyTime = Duration.seconds(2)

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

    /// The present request; nil when none is with the transport.
    var sent: SentRequest? {
        if case .exchanging(let exchange, _) = state { exchange.request } else { nil }
    }

    /// True as long as lines of the present response belong to a head; false when they are trailers.
    var awaitsHead: Bool {
        if case .exchanging(_, .awaitingHead) = state { true } else { false }
    }

    /// True when a head is complete that another one may still follow, so that it is not judged yet.
    var hasUnjudgedHead: Bool {
        if case .exchanging(_, .awaitingHead(let awaited)) = state, case .complete = awaited.head {
            true
        } else {
            false
        }
    }

    /// True when the present request has got a final head.
    var hasHead: Bool {
        guard case .exchanging(_, let stage) = state else { return false }
        if case .awaitingHead(let awaited) = stage { return awaited.isComplete }
        return true
    }

    /// True between a ``BodySink/begin(_:_:)`` that returned and its ``BodySink/end(_:)``.
    var isBodyOpen: Bool {
        if case .exchanging(_, let stage) = state { stage.isBodyOpen } else { false }
    }

    // MARK: Ends

    /// Ends the transfer, whatever its state: the body that is open is cut.
    mutating func cancel() -> Action {
        switch state {
        case .finished: return .none
        case .exchanging where isBodyOpen:
            state = .consulting(.ending(.cancelled))
            return .endBody(.cut)
        case .ready, .exchanging, .consulting: return cancelled()
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
