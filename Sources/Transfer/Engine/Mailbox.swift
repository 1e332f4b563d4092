import CLibcurl
import ConcurrencyPrimitives
import HTTPSemantics

/// The queue of commands from any thread to the engine's thread. It wakes the thread for the first command of a batch, and starts and stops the
/// thread.
final class Mailbox: Sendable {
    struct Submission: Sendable {
        let id: UInt64
        let prepared: PreparedRequest
        let machine: TransferStateMachine
        let calls: SinkCalls
        let events: @Sendable (TransferEvent) -> Void
    }

    enum Command: Sendable {
        indirect case start(Submission)
        case cancel(UInt64)
        case prioritize(UInt64, TransferPriority)
        /// The sink accepted bytes, so that there is room for others.
        case resume(UInt64)
        /// The sink wants no bytes at and after an offset for now.
        case pause(UInt64, at: Int64)
        /// A call of the sink has thrown.
        case sinkFailed(UInt64, any Error)
        /// Another attempt follows, after a pause if there is a duration.
        indirect case proceed(UInt64, TransferStateMachine, after: Duration?, SinkCalls)
        /// The transfer has ended in its task.
        case ended(UInt64)
    }

    /// A multi handle for `curl_multi_wakeup`, the only function that other threads may call.
    ///
    /// `@unchecked Sendable`: used only under the mailbox's lock, and removed under that lock before the engine's thread frees the handle.
    struct Waker: @unchecked Sendable {
        let multi: UnsafeMutableRawPointer
    }

    private enum Thread {
        case notStarted
        case running
        case ended
    }

    private struct State {
        var commands: [Command] = []
        var waker: Waker?
        var isWakeUpSent = false
        var isStopped = false
        var thread = Thread.notStarted
        var lastID: UInt64 = 0
    }

    let configuration: TransferEngine.Configuration
    /// Written by the engine's thread.
    let totals = Locked(TransferTotals())
    private let state = Locked(State())
    /// Fulfilled when the thread has ended.
    private let ended = Promise<Void>()

    init(configuration: TransferEngine.Configuration) { self.configuration = configuration }

    func nextID() -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    func post(_ command: Command) {
        let refusal = state.withLock { state -> (code: TransferError.Code, message: String)? in
            if state.isStopped { return (.cancelled, "the transfer engine is not running") }
            state.commands.append(command)
            wake(&state)
            guard state.thread == .notStarted, !startThread(&state) else { return nil }
            return (.libcurl, "no thread can be started")
        }
        guard let refusal else { return }
        switch command {
        case .start(let submission): submission.refuse(refusal.code, refusal.message)
        case .proceed(_, let machine, _, let calls):
            calls.add(.finish(.failure(machine.error(.cancelled, "the transfer was cancelled"))))
        case .cancel, .prioritize, .resume, .pause, .sinkFailed, .ended: break
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            wake(&state)
        }
    }

    /// Waits until the stopped thread has ended.
    func end() async {
        if state.withLock({ $0.thread == .running }) { await ended.valueDespiteCancellation() }
    }

    /// Takes all commands that were posted since the last call. Returns false if the engine is stopped and accepts no more commands. Called on the
    /// engine's thread.
    func collect(into commands: inout [Command]) -> Bool {
        state.withLock { state in
            swap(&commands, &state.commands)
            state.isWakeUpSent = false
            return !state.isStopped
        }
    }

    func setWaker(_ waker: Waker?) {
        state.withLock { $0.waker = waker }
    }

    /// Fails all waiting transfers, because libcurl cannot be initialised. The next transfer starts the thread again. Called on the engine's
    /// thread.
    private func refuse() {
        let (commands, isStopped) = state.withLock { state in
            state.thread = state.isStopped ? .ended : .notStarted
            defer { state.commands = [] }
            return (state.commands, state.isStopped)
        }
        for case .start(let submission) in commands {
            submission.refuse(.libcurl, "libcurl cannot begin: there is no memory, or too many files are open")
        }
        if isStopped { ended.fulfill(()) }
    }

    private func threadEnded() {
        state.withLock { $0.thread = .ended }
        ended.fulfill(())
    }

    private func wake(_ state: inout State) {
        guard !state.isWakeUpSent, let waker = state.waker else { return }
        state.isWakeUpSent = true
        clibcurl_multi_wakeup(waker.multi)
    }

    private func startThread(_ state: inout State) -> Bool {
        do throws(SystemThread.Failure) {
            let thread = try SystemThread {
                guard let loop = EngineLoop(mailbox: self) else { return self.refuse() }
                loop.run()
                self.threadEnded()
            }
            thread.detach()
        } catch {
            state.commands.removeLast()
            return false
        }
        state.thread = .running
        return true
    }
}

extension Mailbox.Submission {
    fileprivate func refuse(_ code: TransferError.Code, _ message: String) {
        calls.add(.finish(.failure(machine.error(code, message))))
    }
}
