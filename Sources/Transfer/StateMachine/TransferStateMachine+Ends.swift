import HTTPSemantics
import HTTPTypes

// Ends of an exchange, and the next steps: success, another request, a restart, a retry, a failure.

extension TransferStateMachine {
    /// Handles the end of the transport's work on the request, by itself or after ``Action/stop``.
    ///
    /// A head that is complete only now begins a body: after ``Action/beginBody(_:)``, the end of the exchange is reported once more.
    mutating func exchangeEnded(_ end: ExchangeEnd, at now: MonotonicTime) -> Action {
        guard case .exchanging(let exchange, let stage) = state else { return .none }
        switch stage {
        case .awaitingHead(let awaited):
            guard case .complete(let head) = awaited.head else { return endedWithoutHead(end, exchange, awaited) }
            // A head that was only complete when the exchange ended was the last one.
            let action = judge(head, of: exchange)
            if case .beginBody = action { return action }
            return exchangeEnded(end, at: now)
        case .receivingBody(let response, _): return bodyEnded(end, response, exchange.request)
        case .discarding(let conclusion, _): return concluded(conclusion, exchange.request)
        case .stopping(.failure(let error, let isBodyOpen)): return attemptFailed(error, isBodyOpen: isBodyOpen)
        case .stopping(.restart(let reason, _)): return endBody(.startOver(reason))
        }
    }

    private mutating func endedWithoutHead(
        _ end: ExchangeEnd, _ exchange: Exchange, _ awaited: AwaitedHead
    ) -> Action {
        let error: TransferError
        switch end {
        // libcurl treats the end of a connection as the end of the head.
        case .complete:
            error = self.error(.connect, "the connection ended inside the response head", isRetryable: true)
        case .stalled(let stall): error = stall
        case .failed(let failure):
            // A new connection, tried once, shows if the origin or the old connection is at fault.
            if failure.isFromSpoiledConnection, !history.needsFreshConnection, isRepeatable {
                history.needsFreshConnection = true
                return again(exchange.request.attempt.basis)
            }
            if code(of: failure) == .addressRefused, let reason = awaited.addressRefusal {
                error = self.error(.addressRefused, reason)
            } else {
                error = self.error(failure.code, failure.message, isRetryable: failure.isRetryable)
            }
        }
        return attemptFailed(error, isBodyOpen: false)
    }

    private mutating func bodyEnded(_ end: ExchangeEnd, _ response: Response, _ sent: SentRequest) -> Action {
        switch end {
        case .complete: break
        case .stalled(let stall): return attemptFailed(stall, isBodyOpen: true)
        case .failed(let failure):
            let error = error(failure.code, failure.message, isRetryable: failure.isRetryable)
            return attemptFailed(error, isBodyOpen: true)
        }
        let received = history.progress.received
        if let length = response.length, received < length {
            // A response that is shorter than announced, although its end is marked, is invalid. One that ends with the connection was cut.
            if case .range = response.placement, !response.head.endsWithConnection {
                return endBody(.startOver("206 with \(received) bytes for a range of \(length)"))
            }
            let error = error(.cut, "the body is shorter than its head says", isRetryable: true)
            return attemptFailed(error, isBodyOpen: true)
        }
        if let before = sent.plan.partialAfter(response.placement) {
            return endBody(.range(response.head, before: before))
        }
        return endBody(.complete(response.head))
    }

    mutating func endBody(_ body: EndedBody) -> Action {
        state = .awaitingSink(.ending(body))
        return .endBody(body.ending)
    }

    private mutating func concluded(_ conclusion: Conclusion, _ sent: SentRequest) -> Action {
        switch conclusion {
        case .redirect(let hop, let redirects):
            state = .ready(.redirect(sent.attempt, hop, after: redirects))
            return .again(restarting: nil)
        case .proveTotal(let total): return again(sent.attempt.basis.proving(total: total))
        case .alreadyComplete(_, let total) where options.maxFileSize.map({ total > $0 }) ?? false:
            return fail(error(.tooLarge, "the body of \(total) bytes is larger than the limit"))
        case .alreadyComplete(let head, let total):
            history.progress = Progress(base: total, received: 0, total: total)
            state = .awaitingSink(.confirming(head))
            return .beginBody(
                BodyStart(head: head, placement: .alreadyComplete(total: total), resumedFrom: total, total: total))
        case .notModified(let head): return finish(.success(result(.notModified, head)))
        case .status(let head):
            let result = result(.status, head)
            guard !options.forwardsErrorResponses, RetryState.isRetryable(status: head.status.code) else {
                return finish(.success(result))
            }
            return considerRetry(.status(result))
        }
    }

    /// The code of a failure; ``TransferError/Code/addressRefused`` if a refused address is the reason for having no connection.
    func code(of failure: TransportFailure) -> TransferError.Code {
        guard failure.isWithoutConnection, case .exchanging(_, .awaitingHead(let awaited)) = state,
            awaited.addressRefusal != nil
        else { return failure.code }
        return .addressRefused
    }

    /// True if the request may be sent again when its outcome is unknown. RFC 9110 section 9.2.2 also allows this for PUT and DELETE, but a change
    /// by another client in between would be lost.
    private var isRepeatable: Bool { request.request.method.isSafe }

    mutating func again(_ basis: Basis, restarting: String? = nil) -> Action {
        state = .ready(.attempt(basis))
        return .again(restarting: restarting)
    }

    mutating func attemptFailed(_ error: TransferError, isBodyOpen: Bool) -> Action {
        isBodyOpen ? endBody(.failed(error)) : considerRetry(.failure(error))
    }

    mutating func considerRetry(_ cause: RetryCause) -> Action {
        if case .failure(let error) = cause, !error.isRetryable { return fail(error) }
        guard options.retry.maxRetries > 0, isRepeatable else { return giveUp(cause, nil) }
        state = .awaitingSink(.retrying(cause))
        return .askCanRestart
    }
}
