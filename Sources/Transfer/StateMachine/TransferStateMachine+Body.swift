// Bodies: the handling of each piece, and the pauses between pieces.

import Units

extension TransferStateMachine {
    /// The action for a piece of a body.
    enum BodyAction: Equatable {
        /// Hands the piece over to the sink; reported by ``wrote(_:at:)`` or ``pausedBySink()``.
        case write
        /// Discards the piece.
        case discard
        /// Pauses. The same piece is offered again after ``rateAllows(at:)``.
        case pause(until: MonotonicTime)
        case stop
    }

    /// Decides about a piece of a body that has arrived.
    mutating func received(_ count: Int64, at now: MonotonicTime) -> BodyAction {
        guard case .exchanging(let exchange, let stage) = state else { return .stop }
        switch stage {
        case .discarding(let conclusion, let before):
            if !conclusion.isRedirect { history.bytesReceived += count }
            state = .exchanging(exchange, .discarding(conclusion, before + count))
            return before + count > Self.discardLimit ? .stop : .discard
        case .receivingBody(let response, _):
            if let reason = excess(of: count, in: response) {
                state = .exchanging(exchange, .stopping(reason))
                return .stop
            }
            guard let limiter = history.rateLimiter, !limiter.isOpen(at: now) else { return .write }
            state = .exchanging(exchange, .receivingBody(response, .rateLimited(until: limiter.next)))
            return .pause(until: limiter.next)
        case .awaitingHead, .stopping: return .stop
        }
    }

    /// The reason not to accept this many more bytes; `nil` to accept them.
    private mutating func excess(of count: Int64, in response: Response) -> Reason? {
        if let length = response.length, history.progress.received + count > length {
            history.bytesReceived += count
            if case .range = response.placement {
                return .restart("206 with more bytes than the range of \(length)", isBodyOpen: true)
            }
            return .failure(error(.protocolViolation, "the body is longer than its head says"), isBodyOpen: true)
        }
        if let limit = options.maxFileSize, history.progress.bytes + count > limit {
            history.bytesReceived += count
            let text = "the body is larger than the limit of \(limit) bytes"
            return .failure(error(.tooLarge, text), isBodyOpen: true)
        }
        return nil
    }

    /// The offset of the next piece in the body; 0 if no body is being received.
    var nextOffset: Int64 {
        guard case .exchanging(_, .receivingBody(let response, _)) = state else { return 0 }
        if case .range(let range, _) = response.placement { return range.lowerBound + history.progress.received }
        return history.progress.received
    }

    /// Records that a piece was passed on to the sink.
    mutating func wrote(_ count: Int64, at now: MonotonicTime) {
        guard case .exchanging(var exchange, .receivingBody(let response, _)) = state else { return }
        history.progress.received += count
        history.bytesReceived += count
        history.rateLimiter?.take(Int(count), now: now)
        exchange.lastActivity = now
        state = .exchanging(exchange, .receivingBody(response, .flowing))
    }

    /// Records that a piece was not passed on. It is offered again after ``resume(at:)``.
    mutating func pausedBySink() {
        guard case .exchanging(let exchange, .receivingBody(let response, _)) = state else { return }
        state = .exchanging(exchange, .receivingBody(response, .pausedBySink))
    }

    /// Continues after a pause by the sink.
    ///
    /// - Returns: True if the transport must continue.
    mutating func resume(at now: MonotonicTime) -> Bool { resume(from: .pausedBySink, at: now) }

    /// Continues after a pause that limits the rate, if the pause has ended.
    ///
    /// - Returns: True if the transport must continue.
    mutating func rateAllows(at now: MonotonicTime) -> Bool {
        guard case .exchanging(_, .receivingBody(_, .rateLimited(let due))) = state, due <= now else { return false }
        return resume(from: .rateLimited(until: due), at: now)
    }

    private mutating func resume(from pause: Flow, at now: MonotonicTime) -> Bool {
        guard case .exchanging(var exchange, .receivingBody(let response, pause)) = state else { return false }
        exchange.lastActivity = now
        if pause == .pausedBySink { exchange.measured = nil }
        state = .exchanging(exchange, .receivingBody(response, .flowing))
        return true
    }

    // MARK: Stalls

    /// Returns the error if no byte was sent or received for too long, or too few were received.
    ///
    /// - Parameters:
    ///   - uploaded: The number of content bytes of the request that were sent.
    ///   - sentAfter: The time that the transport needed to send the request's head; `nil` while it is connecting, for which it has a separate
    ///     time-out.
    mutating func stall(at now: MonotonicTime, uploaded: Int64, sentAfter: Duration?) -> TransferError? {
        if isHeadOverdue(at: now) {
            let text = "the head of the response did not end within \(options.stallTimeout.text)"
            return error(.stalled, text, isRetryable: true)
        }
        if isStalled(at: now, uploaded: uploaded, sentAfter: sentAfter) {
            return error(.stalled, "no byte from the server for \(options.stallTimeout.text)", isRetryable: true)
        }
        guard let least = options.minimumRate, isSlower(than: least, at: now) else { return nil }
        return error(
            .tooSlow, "less than \(ByteSize(least))/s from the server for \(options.stallTimeout.text)",
            isRetryable: true)
    }

    private mutating func isSlower(than least: Int64, at now: MonotonicTime) -> Bool {
        guard case .exchanging(var exchange, .receivingBody(let response, let flow)) = state, flow != .pausedBySink
        else { return false }
        let received = history.progress.received
        if let measured = exchange.measured {
            let time = now - measured.from
            if time < options.stallTimeout { return false }
            if Double(received - measured.received) < Double(least) * time.inSeconds { return true }
        }
        exchange.measured = (now, received)
        state = .exchanging(exchange, .receivingBody(response, flow))
        return false
    }

    /// Returns true if a head has begun, however slowly its bytes arrive, and has not ended.
    private func isHeadOverdue(at now: MonotonicTime) -> Bool {
        guard case .exchanging(_, .awaitingHead(let awaited)) = state, case .begun(let start) = awaited.head else {
            return false
        }
        return now - start > options.stallTimeout
    }

    private mutating func isStalled(at now: MonotonicTime, uploaded: Int64, sentAfter: Duration?) -> Bool {
        guard case .exchanging(var exchange, let stage) = state, !stage.isPaused else { return false }
        if uploaded != exchange.uploaded {
            exchange.uploaded = uploaded
            exchange.lastActivity = now
            state = .exchanging(exchange, stage)
        }
        if let last = exchange.lastActivity { return now - last > stage.stallTimeout(options.stallTimeout) }
        return sentAfter.map { now - exchange.request.sentAt > options.stallTimeout + $0 } ?? false
    }
}

extension TransferStateMachine.Stage {
    fileprivate var isPaused: Bool {
        if case .receivingBody(_, let flow) = self { flow != .flowing } else { false }
    }

    fileprivate func stallTimeout(_ usual: Duration) -> Duration {
        guard case .discarding(.redirect, _) = self else { return usual }
        return min(usual, TransferStateMachine.redirectBodyTime)
    }
}
