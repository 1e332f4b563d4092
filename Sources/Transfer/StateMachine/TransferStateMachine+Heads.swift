import HTTPSemantics
import HTTPTypes

// Response heads: interim ones, redirects, and the final one.

extension TransferStateMachine {
    /// Records that a status line was received.
    mutating func headBegan(at now: MonotonicTime) { note(.begun(now)) }

    /// Handles a complete interim response.
    mutating func receivedInterim(
        _ status: HTTPResponse.Status, _ fields: HTTPFields, at now: MonotonicTime
    ) -> Action {
        guard case .exchanging(var exchange, .awaitingHead(var awaited)) = state else { return .none }
        awaited.head = .none
        exchange.lastActivity = now
        state = .exchanging(exchange, .awaitingHead(awaited))
        return options.forwardsErrorResponses ? .passInterim(status, fields.withoutFraming) : .none
    }

    private mutating func note(_ progress: AwaitedHead.Progress) {
        guard case .exchanging(let exchange, .awaitingHead(var awaited)) = state else { return }
        awaited.head = progress
        state = .exchanging(exchange, .awaitingHead(awaited))
    }

    /// Fails because the received lines are not a valid head, or not valid trailers, for this reason.
    mutating func fieldsBroke(_ violation: String) -> Action {
        switch state {
        case .exchanging(let exchange, .awaitingHead):
            return stop(exchange, error(.protocolViolation, violation))
        // The head was sufficient, and its conclusion remains.
        case .exchanging(_, .discarding): return .stop
        case .exchanging(let exchange, .receivingBody):
            return stop(exchange, error(.protocolViolation, violation), isBodyOpen: true)
        default: return .none
        }
    }

    /// Handles a complete head that is not interim.
    ///
    /// - Parameter status: The status of the response that libcurl itself reads. libcurl passes trailers like heads, and the trailers of an error
    ///   may look like a head.
    mutating func received(_ head: ReceivedHead, readAs status: Int, at now: MonotonicTime) -> Action {
        guard case .exchanging(var exchange, .awaitingHead) = state else { return .none }
        guard head.status == status else { return fieldsBroke("a trailer that looks like a response head") }
        exchange.lastActivity = now
        history.hasReachedHost = true
        if options.maxRedirects > 0, let location = head.redirectLocation {
            return redirect(exchange, to: location, by: head)
        }
        guard (200..<300).contains(status) || passesWithoutBody(status) else {
            state = .exchanging(exchange, .awaitingHead(AwaitedHead(head: .complete(head))))
            return .none
        }
        return judge(head, of: exchange)
    }

    /// Returns true if a head with this status can be passed on before its body, because no other head can follow it.
    private func passesWithoutBody(_ status: Int) -> Bool {
        options.forwardsErrorResponses && options.maxRedirects == 0 && status != 304 && request.credentials == nil
            && options.netrc == .off
    }

    private mutating func redirect(_ exchange: Exchange, to location: String, by head: ReceivedHead) -> Action {
        let sent = exchange.request
        let status = HTTPResponse.Status(code: head.status)
        let redirects = sent.redirects + [RedirectHop(url: sent.hop.url.text, status: status, fields: head.fields)]
        guard redirects.count <= options.maxRedirects else {
            return stop(exchange, error(.tooManyRedirects, "more than \(options.maxRedirects) redirects"))
        }
        let next: Hop
        do throws(InvalidURL) {
            next = try Hop(after: head.status, to: location, from: sent.hop, of: request)
        } catch {
            return stop(exchange, self.error(.badRedirect, "redirected to what cannot be fetched: \(error)"))
        }
        state = .exchanging(exchange, .discarding(.redirect(next, after: redirects), 0))
        let response = sent.response(head, after: sent.redirects)
        // For a longer body, the connection is closed.
        let isShort = response.declaredLength.isAtMost(Self.discardLimit)
        return isShort && response.unknownTransferCoding == nil ? .none : .stop
    }

    /// Treats the collected head as the final one, because a body follows it.
    mutating func judgeHead() -> Action {
        guard case .exchanging(let exchange, .awaitingHead(let awaited)) = state,
            case .complete(let head) = awaited.head
        else { return .none }
        return judge(head, of: exchange)
    }

    /// Decides about the final head.
    mutating func judge(_ received: ReceivedHead, of exchange: Exchange) -> Action {
        let sent = exchange.request
        var head = sent.response(received, after: sent.redirects)
        if !sent.plan.isHead, let coding = head.unknownTransferCoding {
            let text = "the response has the transfer coding '\(coding)', which is not known"
            return stop(exchange, error(.protocolViolation, text))
        }
        head.removeFramingFields()
        switch sent.plan.action(for: head) {
        case .take(let placement, let length, let dropping):
            let response = Response(head: head, placement: placement, length: length)
            return begin(response, of: exchange, restarting: dropping)
        case .restart(let reason):
            state = .exchanging(exchange, .stopping(.restart(reason, isBodyOpen: false)))
            return .stop
        case .fail(let text): return stop(exchange, error(.protocolViolation, text))
        case .alreadyComplete(let total): return discard(exchange, head, .alreadyComplete(head, total: total))
        case .proveTotal(let total): return discard(exchange, head, .proveTotal(total))
        case .status: return discard(exchange, head, .status(head))
        case .notModified: return discard(exchange, head, .notModified(head))
        }
    }

    private mutating func discard(_ exchange: Exchange, _ head: ResponseHead, _ conclusion: Conclusion) -> Action {
        state = .exchanging(exchange, .discarding(conclusion, 0))
        return exchange.request.plan.isHead || head.declaredLength.isAtMost(Self.discardLimit) ? .none : .stop
    }

    private mutating func begin(_ response: Response, of exchange: Exchange, restarting: String?) -> Action {
        switch response.placement {
        case .whole(let length):
            history.resumedFrom = 0
            history.progress = Progress(base: 0, received: 0, total: length)
        case .range(_, let total), .alreadyComplete(let total):
            history.progress = Progress(base: exchange.request.plan.held?.heldBytes ?? 0, received: 0, total: total)
        }
        if let limit = options.maxFileSize, let total = history.progress.total, total > limit {
            let text = "the body of \(total) bytes is larger than the limit of \(limit) bytes"
            return stop(exchange, error(.tooLarge, text))
        }
        if let restarting { history.restarts.append(restarting) }
        state = .exchanging(exchange, .receivingBody(response, .flowing))
        return .beginBody(
            BodyStart(
                head: response.head, placement: response.placement, resumedFrom: history.progress.base,
                total: history.progress.total, restarting: restarting))
    }

    /// Ends the exchange with an error.
    mutating func stop(_ exchange: Exchange, _ error: TransferError, isBodyOpen: Bool = false) -> Action {
        state = .exchanging(exchange, .stopping(.failure(error, isBodyOpen: isBodyOpen)))
        return .stop
    }
}

extension TransferStateMachine.SentRequest {
    fileprivate func response(_ head: ReceivedHead, after redirects: [RedirectHop]) -> ResponseHead {
        ResponseHead(
            status: .init(code: head.status), fields: head.fields, version: head.version, finalURL: hop.url.text,
            redirects: redirects, requestTime: attempt.requestTime, responseTime: head.receivedAt)
    }
}
