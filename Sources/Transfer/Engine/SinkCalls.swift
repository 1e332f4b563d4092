import ConcurrencyPrimitives

/// The calls of one transfer's sink: the engine's thread orders them, and the task that runs the transfer makes them, in order.
///
/// A sink may take long, or wait for another process. The engine's thread does not wait for it: it fills blocks in memory, and
/// pauses a transfer whose sink has several of them to take.
final class SinkCalls: Sendable {
    enum Call: Sendable {
        case begin(BodyStart)
        case write(Block)
        /// The exchange has ended, and the sink's answers decide what follows. Until then the task has the transfer's decisions.
        ///
        /// `holdsSlot`: the loop is to be told when the transfer has ended.
        case decide(TransferStateMachine, TransferStateMachine.Action, holdsSlot: Bool)
        case finish(Result<TransferResult, TransferError>)

        /// True if the sink is to have everything that came, however long it takes.
        fileprivate var waitsForSink: Bool {
            switch self {
            case .begin, .write, .decide(_, .endBody(.complete), _): true
            case .decide, .finish: false
            }
        }
    }

    /// The bytes that may wait for a sink before its transfer is paused.
    private static let mostWaiting = 4 * Block.size

    private struct State {
        var calls: [Call] = []
        /// Bytes that the sink has yet to take.
        var waitingBytes = 0
        /// The transfer is paused until there is room.
        var isPaused = false
        /// A block that the sink has taken.
        var spare: Block?
        /// The task, when it waits.
        var task: UnsafeContinuation<Void, Never>?
        /// ``TransferControl/resume()`` came after the last write.
        var isResumed = false
        /// The exchange was cut: a sink that has paused is not waited for.
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

    // MARK: The engine's thread

    /// True if another block may be filled. Otherwise the transfer pauses until ``took(_:)`` says that there is room again.
    func hasRoom() -> Bool {
        state.withLock { state in
            state.isPaused = state.waitingBytes >= Self.mostWaiting
            return !state.isPaused
        }
    }

    /// True if more than a block waits for the sink.
    var isBehind: Bool { state.withLock { $0.waitingBytes > Block.size } }

    /// An empty block for so many bytes that are still to come, or for as many as a block has.
    func block(for count: Int64?) -> Block {
        let capacity = Int(min(count.map { $0 > 0 ? $0 : .max } ?? .max, Int64(Block.size)))
        let spare = state.withLock { state in
            defer { state.spare = nil }
            return state.spare
        }
        if let spare, spare.capacity >= capacity { return spare }
        return Block(capacity: capacity)
    }

    func add(_ calls: [Call]) {
        let task = state.withLock { state in
            for call in calls {
                if case .write(let block) = call { state.waitingBytes += block.count }
                if !call.waitsForSink { state.isHurried = true }
            }
            state.calls += calls
            return state.takeTask()
        }
        task?.resume()
    }

    // MARK: The transfer's task

    /// The calls that were added since the last time, in order; waits for one.
    func next() async -> [Call] {
        while true {
            let calls = state.withLock { state in
                defer { state.calls = [] }
                return state.calls
            }
            if !calls.isEmpty { return calls }
            await wait { !$0.calls.isEmpty }
        }
    }

    /// The sink has taken a block, or is not to have it.
    ///
    /// - Returns: True if the transfer is paused, and may go on.
    func took(_ block: Block) -> Bool {
        let count = block.count
        block.empty()
        return state.withLock { state in
            state.waitingBytes -= count
            state.spare = block
            guard state.isPaused, state.waitingBytes < Self.mostWaiting else { return false }
            state.isPaused = false
            return true
        }
    }

    /// Another attempt begins.
    func beginAttempt() { state.withLock { $0.isHurried = false } }

    /// The sink is called next: only what comes from now on resumes it.
    func willWrite() { state.withLock { $0.isResumed = false } }

    /// Waits until the sink resumes the transfer.
    ///
    /// - Returns: False if it is not waited for any more.
    func resumed() async -> Bool {
        await wait { $0.isResumed || $0.isCancelled || $0.isHurried }
        return state.withLock { $0.isResumed }
    }

    private func wait(until isMet: @escaping @Sendable (State) -> Bool) async {
        while !state.withLock({ isMet($0) }) {
            await withUnsafeContinuation { continuation in
                let goesOn = state.withLock { state in
                    if isMet(state) { return true }
                    state.task = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        }
    }

    // MARK: Any thread

    /// The sink takes bytes again.
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
