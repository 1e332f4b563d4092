import HTTPSemantics

/// Calls the sink of a transfer, in the task that runs the transfer.
struct SinkTask {
    private let id: UInt64
    private let prepared: PreparedRequest
    private let sink: any BodySink
    private let events: @Sendable (TransferEvent) -> Void
    private let mailbox: Mailbox
    private let calls: SinkCalls

    /// True between a ``BodySink/begin(_:_:)`` that returned and its ``BodySink/end(_:)``.
    private var isBodyOpen = false
    /// The error of the sink, which gets no more bytes of the current body. `isBodyOpen` if ``BodySink/begin(_:_:)`` had returned.
    private var refusal: (cause: any Error, isBodyOpen: Bool)?
    /// True if the remaining bytes of the current body are dropped, because the sink has paused and its exchange was cut.
    private var isDropping = false
    /// The number of bytes of the current body that the sink has, and the length of the body.
    private var accepted: (bytes: Int64, total: Int64?) = (0, nil)
    /// True if the sink received bytes since the last ``BodySink/writeBatchComplete()``.
    private var hasNews = false

    init(
        _ id: UInt64, _ prepared: PreparedRequest, into sink: any BodySink, _ calls: SinkCalls, mailbox: Mailbox,
        events: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.id = id
        self.prepared = prepared
        self.sink = sink
        self.calls = calls
        self.mailbox = mailbox
        self.events = events
    }

    mutating func run() async -> Result<TransferResult, TransferError> {
        let configuration = mailbox.configuration
        var machine = TransferStateMachine(
            prepared.checked,
            rules: .init(
                signatures: configuration.signatures,
                addressPolicy: prepared.checked.options.gate?.gate.addressPolicy ?? configuration.addressPolicy),
            startedAt: .now)
        if calls.isCancelled { return .failure(machine.error(.cancelled, "the transfer was cancelled")) }
        sink.attach(TransferHandle(id: id, calls: calls, mailbox: mailbox))
        if prepared.checked.mayResume { _ = machine.learned(held: sink.held()) }
        events(.queued)
        mailbox.post(
            .start(.init(id: id, prepared: prepared, machine: machine, calls: calls, events: events)))
        while true {
            for call in await calls.next() { if let result = await perform(call) { return result } }
            if hasNews {
                hasNews = false
                if isBodyOpen { sink.writeBatchComplete() }
            }
        }
    }

    private mutating func perform(_ call: SinkCalls.Call) async -> Result<TransferResult, TransferError>? {
        switch call {
        case .begin(let start):
            accepted = (start.resumedFrom, start.total)
            do {
                try sink.begin(start.head, start.placement)
                isBodyOpen = true
            } catch {
                refuse(error)
            }
            return nil
        case .write(let block):
            await write(block)
            if calls.took(block) { mailbox.post(.resume(id)) }
            return nil
        case .decide(let machine, let action, let holdsSlot):
            let result = decide(machine, action)
            if result != nil, holdsSlot { mailbox.post(.ended(id)) }
            return result
        case .finish(let result): return result
        }
    }

    private mutating func write(_ block: Block) async {
        while isBodyOpen, refusal == nil, !isDropping {
            calls.willWrite()
            do {
                hasNews = true
                if case .accepted = try sink.write(block.bytes) {
                    accepted.bytes += Int64(block.count)
                    return
                }
            } catch {
                return refuse(error)
            }
            isDropping = await !calls.resumed()
        }
    }

    /// Records an error of the sink. The engine ends the exchange, if it has not ended yet.
    private mutating func refuse(_ cause: any Error) {
        refusal = (cause, isBodyOpen)
        mailbox.post(.sinkFailed(id, cause))
    }

    // MARK: Between exchanges

    /// Performs an action after an exchange, and those that follow from the sink's results.
    ///
    /// - Returns: The transfer's result; `nil` if the loop continues with another attempt.
    private mutating func decide(
        _ machine: TransferStateMachine, _ first: TransferStateMachine.Action
    ) -> Result<TransferResult, TransferError>? {
        var machine = machine
        var action = first
        // The engine has reported bytes that the sink does not have.
        if refusal != nil || isDropping { events(.received(accepted.bytes, total: accepted.total)) }
        if let refusal {
            action = machine.sinkFailed(refusal.cause, isBodyOpen: refusal.isBodyOpen)
        } else if isDropping, case .endBody(.complete) = action {
            action = machine.cancel()
        }
        (isBodyOpen, refusal, isDropping, hasNews) = (false, nil, false, false)
        calls.beginAttempt()
        while true {
            switch action {
            case .beginBody(let start): action = confirm(start, &machine)
            case .endBody(let ending): action = end(ending, &machine)
            case .loadPartial: action = machine.learned(held: held)
            case .askCanRestart: action = askCanRestart(&machine)
            case .again(let restarting):
                if let restarting { events(.restart(restarting)) }
                mailbox.post(.proceed(id, machine, after: nil, calls))
                return nil
            case .wait(let delay, let reason):
                events(.retrying(after: delay, because: reason))
                mailbox.post(.proceed(id, machine, after: delay, calls))
                return nil
            case .finish(let result): return result
            case .none, .send, .passInterim, .stop:
                return .failure(machine.error(.libcurl, "the transfer has no end"))
            }
        }
    }

    /// `nil` for a transfer that cannot be resumed: its sink is not asked.
    private var held: HeldPartial? { prepared.checked.mayResume ? sink.held() : nil }

    private func confirm(_ start: BodyStart, _ machine: inout TransferStateMachine) -> TransferStateMachine.Action {
        do { try sink.begin(start.head, start.placement) } catch { return machine.sinkFailed(error) }
        events(.head(start.head, resumedFrom: start.resumedFrom, total: start.total))
        return machine.sinkSucceeded()
    }

    private func end(
        _ ending: AttemptEnding, _ machine: inout TransferStateMachine
    ) -> TransferStateMachine.Action {
        do { try sink.end(ending) } catch { return machine.sinkFailed(error) }
        if ending == .complete {
            let progress = machine.history.progress
            events(.received(progress.bytes, total: progress.total))
        }
        return machine.sinkSucceeded()
    }

    private func askCanRestart(_ machine: inout TransferStateMachine) -> TransferStateMachine.Action {
        guard sink.canRestart() else { return machine.sinkCannotRestart() }
        return machine.sinkCanRestart(held: held, random: mailbox.configuration.random(), at: .now)
    }
}
