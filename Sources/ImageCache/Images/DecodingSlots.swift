import Locking
import Transfer

/// Limits concurrent decodes by count and memory; the others wait in order of priority, then of arrival, with clients taking turns.
///
/// A burst of large images so takes its turns instead of adding up.
final class DecodingSlots: Sendable {
    private struct Waiter {
        let priority: TransferPriority
        let tag: UInt64
        let memory: Int
        let turn = Promise<Void>()
    }

    private struct State {
        var running = 0
        var memory = 0
        /// By priority, then by tag, then by arrival.
        var waiters: [Waiter] = []
        var order = FairOrder()
        /// The most memory that was ever granted at a time.
        var peak = 0
    }

    private let width: Int
    private let memoryLimit: Int
    private let state = Locked(State())

    /// - Parameters:
    ///   - width: decodes at a time.
    ///   - memoryLimit: bytes for all of them together; one that alone needs more runs alone.
    init(width: Int, memoryLimit: Int) {
        self.width = max(1, width)
        self.memoryLimit = memoryLimit
    }

    var peakMemory: Int { state.withLock { $0.peak } }

    /// Runs `work` when it is its turn, on the executor's threads.
    func run<Value: Sendable>(
        priority: TransferPriority, client: String? = nil, memory: Int, on executor: BlockingExecutor,
        _ work: @escaping @Sendable () throws(ImageCacheError) -> Value
    ) async throws(ImageCacheError) -> Value {
        guard await enter(priority, client, memory) else { throw .cancelled }
        defer { leave(memory) }
        return try await executor.run(work)
    }

    /// False when the task was cancelled while it waited.
    private func enter(_ priority: TransferPriority, _ client: String?, _ memory: Int) async -> Bool {
        if Task.isCancelled { return false }
        let (waiter, first) = state.withLock { state in
            let waiter = Waiter(priority: priority, tag: state.order.tag(for: client), memory: memory)
            let place = state.waiters.firstIndex {
                $0.priority == priority ? $0.tag > waiter.tag : $0.priority < priority
            }
            state.waiters.insert(waiter, at: place ?? state.waiters.count)
            return (waiter, admitted(&state))
        }
        begin(first)
        if await waiter.turn.value() != nil { return true }
        let (isOver, next) = state.withLock { state in
            let index = state.waiters.firstIndex { $0.turn === waiter.turn }
            if let index { state.waiters.remove(at: index) }
            // It may have been the one that the others waited behind.
            return (index != nil, admitted(&state))
        }
        begin(next)
        // Its turn may have come at the same moment.
        return !isOver
    }

    private func leave(_ memory: Int) {
        let next = state.withLock { state in
            state.running -= 1
            state.memory -= memory
            return admitted(&state)
        }
        begin(next)
    }

    private func begin(_ waiters: [Waiter]) {
        for waiter in waiters { waiter.turn.fulfill(()) }
    }

    private func mayRun(_ waiter: Waiter, _ state: State) -> Bool {
        state.running == 0 || (state.running < width && state.memory + waiter.memory <= memoryLimit)
    }

    /// Those whose turn it is now. The first in line is never overtaken, so that a large one gets its turn.
    private func admitted(_ state: inout State) -> [Waiter] {
        var next: [Waiter] = []
        while let first = state.waiters.first, mayRun(first, state) {
            state.waiters.removeFirst()
            state.order.serve(first.tag)
            state.running += 1
            state.memory += first.memory
            state.peak = max(state.peak, state.memory)
            next.append(first)
        }
        if state.waiters.isEmpty { state.order.reset() }
        return next
    }
}
