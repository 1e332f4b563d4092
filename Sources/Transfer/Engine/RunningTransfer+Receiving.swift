import CLibcurl
import ConcurrencyPrimitives
import HTTPTypes

extension RunningTransfer {
    /// The result of a callback for libcurl.
    enum Reception {
        case accepted
        case pause
        case stop
    }

    func receiveHead(line: UnsafeRawBufferPointer) -> Reception {
        guard machine.awaitsHead else {
            guard case .violation(let text) = collector.appendTrailer(line) else { return .accepted }
            return reception(machine.fieldsBroke(text), now: .now)
        }
        if RawHead.isStatusLine(line) { machine.headBegan(at: .now) }
        switch collector.append(line) {
        case .more: return .accepted
        case .interim(let status, let fields):
            return reception(machine.receivedInterim(.init(code: status), fields, at: .now), now: .now)
        case .violation(let text): return reception(machine.fieldsBroke(text), now: .now)
        case .complete(let status): return receiveHead(status: status)
        }
    }

    private func receiveHead(status: Int) -> Reception {
        let now = MonotonicTime.now
        let readStatus = handle?.responseCode ?? 0
        if options.reportsHeads, readStatus == status { events(.responseHead(MaskedHead.lines(collector.bytes))) }
        let (version, fields) = collector.parsed()
        let head = ReceivedHead(
            status: status, version: version, fields: fields, receivedAt: mailbox.configuration.now())
        return reception(machine.received(head, readAs: readStatus, at: now), now: now)
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Reception {
        let now = MonotonicTime.now
        if machine.hasUnjudgedHead, reception(machine.judgeHead(), now: now) == .stop { return .stop }
        switch machine.received(Int64(bytes.count), at: now) {
        case .write: return write(bytes, now: now)
        case .discard: return .accepted
        case .pause(let due):
            wakingTime = due
            return .pause
        case .stop: return .stop
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, now: MonotonicTime) -> Reception {
        guard end.map({ machine.nextOffset < $0 }) ?? true, handover.take(bytes, now: now) else {
            machine.pausedBySink()
            return .pause
        }
        machine.wrote(Int64(bytes.count), at: now)
        mailbox.totals.withLock { $0.bytesReceived += bytes.count }
        report(now: now)
        return .accepted
    }

    /// The result for libcurl after an action. If it stops the request, the loop continues at the request's end.
    private func reception(_ action: TransferStateMachine.Action, now: MonotonicTime) -> Reception {
        if case .proceed = perform(action, now: now) { .accepted } else { .stop }
    }
}
