import HTTPTypes

// The results of calls of the sink.

extension TransferStateMachine {
    /// Handles the return of ``BodySink/begin(_:_:)`` or ``BodySink/end(_:)`` after the exchange.
    mutating func sinkSucceeded() -> Action {
        switch state {
        case .awaitingSink(.confirming(let head)):
            return endBody(.complete(head))
        case .awaitingSink(.ending(let ended)): return bodyClosed(ended)
        default: return .none
        }
    }

    private mutating func bodyClosed(_ ended: EndedBody) -> Action {
        switch ended {
        case .complete(let head): return finish(.success(result(.body, head)))
        case .range(let head, let before):
            state = .awaitingSink(.betweenRanges(head, before: before))
            return .loadPartial
        case .failed(let error): return considerRetry(.failure(error))
        case .startOver(let reason):
            history.restarts.append(reason)
            history.resumedFrom = 0
            return again(.nothing, restarting: reason)
        case .cancelled: return cancelled()
        }
    }

    /// Handles an error of ``BodySink/begin(_:_:)``, ``BodySink/write(_:)`` or ``BodySink/end(_:)``. An error during an exchange is reported again
    /// at the end of the body.
    ///
    /// - Parameter isBodyOpen: True after an error of a write: a call of `end` must follow.
    mutating func sinkFailed(_ cause: any Error, isBodyOpen: Bool = false) -> Action {
        switch state {
        case .exchanging(let exchange, .receivingBody): return stop(exchange, refused(cause), isBodyOpen: true)
        case .awaitingSink(.ending(let ended)) where isBodyOpen:
            if case .cancelled = ended {} else { state = .awaitingSink(.ending(.failed(refused(cause)))) }
            return .endBody(ended.endingIfIncomplete)
        case .awaitingSink(.ending(.cancelled)): return cancelled()
        // The first error of the sink is reported.
        case .awaitingSink(.ending(.failed(let error))) where error.code == .refusedBySink: return fail(error)
        case .awaitingSink(.ending), .awaitingSink(.confirming): return fail(refused(cause))
        default: return .none
        }
    }

    /// Continues with what is missing after one of several ranges, or after a part of one.
    mutating func rangeEnded(_ head: ResponseHead, before: HeldPartial, now: HeldPartial?) -> Action {
        guard let now, !now.missing.isEmpty else { return finish(.success(result(.body, head))) }
        guard now.heldBytes > before.heldBytes else {
            return fail(error(.refusedBySink, "a part that the server sent was not kept"))
        }
        history.furthest = max(history.furthest, now.heldBytes)
        // A server may send less than was asked for, but not so little that the number of requests has no bound.
        if now.missing.count >= before.missing.count { history.shortParts += 1 }
        guard history.shortParts <= Self.freeShortParts + history.bytesReceived / Self.leastPart else {
            let text = "the server sent only \(history.bytesReceived) bytes in \(history.attempts) responses to ranges"
            return fail(error(.protocolViolation, text))
        }
        return again(Basis(now))
    }

    // MARK: Retries

    /// Handles the sink's consent to another attempt.
    ///
    /// - Parameters:
    ///   - held: The bytes that the sink holds now.
    ///   - random: A number in 0 ..< 1, for the pause.
    mutating func sinkCanRestart(held: HeldPartial?, random: Double, at now: MonotonicTime) -> Action {
        guard case .awaitingSink(.retrying(let cause)) = state else { return .none }
        let count = held?.heldBytes ?? 0
        let madeProgress = count > history.furthest && !cause.isSlow
        history.furthest = max(history.furthest, count)
        let decision = history.retry.decide(
            madeProgress: madeProgress, retryAfter: cause.retryAfter,
            isUnreachable: !history.hasReachedHost && cause.isFailureToConnect, elapsed: now - history.startedAt,
            random: random)
        switch decision {
        case .retry(let delay):
            state = .ready(.attempt(Basis(held)))
            return .wait(delay, because: cause.text)
        case .giveUp(let note): return giveUp(cause, note)
        }
    }

    /// Handles the sink's refusal of another attempt.
    mutating func sinkCannotRestart() -> Action {
        guard case .awaitingSink(.retrying(let cause)) = state else { return .none }
        return giveUp(cause, "the answer was handed on, and cannot be continued")
    }

    mutating func giveUp(_ cause: RetryCause, _ note: String?) -> Action {
        switch cause {
        case .failure(var error):
            if let note { error.message += " (\(note))" }
            return fail(error)
        case .status(var result):
            result.retriesEnded = note
            return finish(.success(result))
        }
    }
}

extension TransferStateMachine.RetryCause {
    fileprivate var retryAfter: Duration? {
        if case .status(let result) = self { result.head.retryAfter } else { nil }
    }

    fileprivate var isFailureToConnect: Bool {
        if case .failure(let error) = self { error.code == .resolve || error.code == .connect } else { false }
    }

    fileprivate var isSlow: Bool {
        if case .failure(let error) = self { error.code == .tooSlow } else { false }
    }

    fileprivate var text: String {
        switch self {
        case .failure(let error): error.message
        case .status(let result): "the server answered \(result.head.status.code)"
        }
    }
}
