import ConcurrencyPrimitives
import HTTPTypes

extension RunningTransfer {
    /// Performs an action and those that follow from the sink's results, up to one that the loop or libcurl performs.
    func perform(_ first: TransferStateMachine.Action, now: MonotonicTime) -> Next {
        var action = first
        while true {
            switch action {
            case .none, .send: return .goOn
            case .stop: return .stop
            case .passInterim(let status, let fields):
                events(.interim(status, fields))
                return .goOn
            case .beginBody(let start): action = begin(start, now: now)
            case .endBody(let ending): action = end(ending, now: now)
            case .askHeld: action = machine.learned(held: heldBytes)
            case .askForAnother: action = askForAnother(now: now)
            case .again(let restarting):
                if let restarting { events(.restart(restarting)) }
                return .again
            case .wait(let delay, let reason):
                events(.retrying(after: delay, because: reason))
                return .wait(delay)
            case .finish(let result): return .finished(result)
            }
        }
    }

    private func begin(_ start: BodyStart, now: MonotonicTime) -> TransferStateMachine.Action {
        if let reason = start.restarting { events(.restart(reason)) }
        do { try sink.begin(start.head, start.placement) } catch { return machine.sinkFailed(error) }
        if case .range = start.placement, !options.isSegment {
            mailbox.totals.withLock { totals in
                totals.resumes += 1
                totals.bytesResumed += Int(start.resumedFrom)
            }
        }
        events(.head(start.head, resumedFrom: start.resumedFrom, total: start.total))
        return machine.sinkSucceeded(at: now)
    }

    private func end(_ ending: AttemptEnding, now: MonotonicTime) -> TransferStateMachine.Action {
        do { try sink.end(ending) } catch { return machine.sinkFailed(error) }
        if ending == .complete { report(now: now, force: true) }
        return machine.sinkSucceeded(at: now)
    }

    private func askForAnother(now: MonotonicTime) -> TransferStateMachine.Action {
        guard sink.canRestart() else { return machine.sinkCannotRestart() }
        return machine.sinkCanRestart(held: heldBytes, random: mailbox.configuration.random(), at: now)
    }

    /// `nil` for a transfer that cannot be resumed: its sink is not asked.
    private var heldBytes: HeldPartial? { prepared.checked.mayResume ? sink.held() : nil }
}
