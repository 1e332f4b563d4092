import ConcurrencyPrimitives
import HTTPTypes

extension RunningTransfer {
    /// Performs an action during an exchange. The loop or the task performs an action after it.
    func perform(_ action: TransferStateMachine.Action, now: MonotonicTime) -> Next {
        switch action {
        case .none, .send: return .proceed
        case .stop: return .stop
        case .passInterim(let status, let fields):
            events(.interim(status, fields))
            return .proceed
        case .beginBody(let start) where machine.sent != nil:
            begin(start, now: now)
            return .proceed
        case .again(let restarting):
            if let restarting { events(.restart(restarting)) }
            return .again
        case .finish(let result): return .finished(result)
        case .beginBody, .endBody, .loadPartial, .askCanRestart, .wait: return .decide(action)
        }
    }

    private func begin(_ start: BodyStart, now: MonotonicTime) {
        if let reason = start.restarting { events(.restart(reason)) }
        if case .range = start.placement, !options.isSegment {
            mailbox.totals.withLock { totals in
                totals.resumes += 1
                totals.bytesResumed += Int(start.resumedFrom)
            }
        }
        events(.head(start.head, resumedFrom: start.resumedFrom, total: start.total))
        handover.begin(start, now: now)
    }
}
