import ConcurrencyPrimitives

/// The queue of calls for one transfer's sink, from the engine's thread to the task that makes them.
///
/// The engine's thread never waits for a sink, which may wait for a disk or for another process. It collects bytes in blocks, and pauses the transfer
/// while several blocks wait.
final class SinkCalls: Sendable {
    enum Call: Sendable {
        indirect case begin(BodyStart)
        case write(Block)
        /// The exchange has ended, and the sink's results decide the next step. Meanwhile the task has the state machine. If `holdsSlot`, the task
        /// reports the end of the transfer to the loop.
        indirect case decide(TransferStateMachine, TransferStateMachine.Action, holdsSlot: Bool)
        indirect case finish(Result<TransferResult, TransferError>)

        /// True if a paused sink still receives all bytes before this call.
        fileprivate var waitsForSink: Bool {
            switch self {
            case .begin, .write, .decide(_, .endBody(.complete), _): true
            case .decide, .finish: false
            }
        }
    }

    /// The number of bytes that may wait for a sink before its transfer is paused.
    private static let mostWaiting = 4 * Int(Block.size)

    fileprivate struct State {
        var calls: [Call] = []
        /// The number of bytes that the sink has not accepted yet.
        var waitingBytes = 0
        /// True if the transfer is paused until there is room.
        var isPaused = false
        /// The continuation of the waiting task.
        var task: UnsafeContinuation<Void, Never>?
        /// True after ``TransferControl/resume()``, until the next write.
        var isResumed = false
        /// True if the exchange was cut. The task then does not wait for a paused sink.
        var isHurried = false
        var isCancelled = false
        var priority: TransferPriority

        mutating func takeTask() -> UnsafeContinuation<Void, Never>? {
            defer { task = nil }
            return task
        }
    }

    private let state: Locked<State>

    init(priority: TransferPriority) { state = Locked(State(priority: priority)) }

    // MARK: On the engine's thread

    /// Returns true if another block may be filled. Otherwise the transfer pauses until ``took(_:)`` returns true.
    func hasRoom() -> Bool {
        state.withLock { state in
            state.isPaused = state.waitingBytes >= Self.mostWaiting
            return !state.isPaused
        }
    }

    /// True if more than one block waits for the sink.
    var isBehind: Bool { state.withLock { $0.waitingBytes > Int(Block.size) } }

    /// Adds up to three calls, in order.
    func add(_ first: Call?, _ second: Call? = nil, _ third: Call? = nil) {
        let task = state.withLock { state in
            state.add(first)
            state.add(second)
            state.add(third)
            return state.takeTask()
        }
        task?.resume()
    }

    // MARK: In the transfer's task

    /// Returns the calls that were added since the last time, in order. Waits for the first of them.
    func next() async -> [Call] {
        await wait { !$0.calls.isEmpty }
        return state.withLock { state in
            defer { state.calls = [] }
            return state.calls
        }
    }

    /// Removes bytes that the sink has accepted, or does not get.
    ///
    /// - Returns: True if the transfer was paused and must continue.
    func took(_ block: Block) -> Bool {
        state.withLock { state in
            state.waitingBytes -= block.count
            guard state.isPaused, state.waitingBytes < Self.mostWaiting else { return false }
            state.isPaused = false
            return true
        }
    }

    func beginAttempt() { state.withLock { $0.isHurried = false } }

    /// Called before each write: only a later ``resume()`` continues it.
    func willWrite() { state.withLock { $0.isResumed = false } }

    /// Waits until the sink resumes the transfer.
    ///
    /// - Returns: False if the exchange was cut or the transfer cancelled before.
    func resumed() async -> Bool {
        await wait { $0.isResumed || $0.isCancelled || $0.isHurried }
        return state.withLock { $0.isResumed }
    }

    private func wait(until isMet: @escaping @Sendable (State) -> Bool) async {
        while !state.withLock({ isMet($0) }) {
            await withUnsafeContinuation { continuation in
                let continues = state.withLock { state in
                    if isMet(state) { return true }
                    state.task = continuation
                    return false
                }
                if continues { continuation.resume() }
            }
        }
    }

    // MARK: On any thread

    /// Continues after a pause by the sink.
    func resume() {
        state.withLock { state in
            state.isResumed = true
            return state.takeTask()
        }?.resume()
    }

    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            return state.takeTask()
        }?.resume()
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    var priority: TransferPriority {
        get { state.withLock { $0.priority } }
        set { state.withLock { $0.priority = newValue } }
    }
}

extension SinkCalls.State {
    fileprivate mutating func add(_ call: SinkCalls.Call?) {
        guard let call else { return }
        if case .write(let block) = call { waitingBytes += block.count }
        if !call.waitsForSink { isHurried = true }
        calls.append(call)
    }
}
