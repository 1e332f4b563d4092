import Locking
import Transfer

/// Who may decode now: as many at a time as there are threads for it, and no more than their memory allows; the others wait
/// in order of priority, then of arrival.
///
/// A burst of large images so takes its turns instead of adding up.
final class DecodingSlots: Sendable {
    private struct Waiter {
        let id: Int
        let priority: TransferPriority
        let memory: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var running = 0
        var memory = 0
        var nextID = 0
        /// By priority, then by arrival.
        var waiters: [Waiter] = []
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
        priority: TransferPriority, memory: Int, on executor: BlockingExecutor,
        _ work: @escaping @Sendable () throws(ImageCacheError) -> Value
    ) async throws(ImageCacheError) -> Value {
        guard await enter(priority, memory) else { throw .cancelled }
        defer { leave(memory) }
        return try await executor.run(work)
    }

    /// False when the task was cancelled while it waited.
    private func enter(_ priority: TransferPriority, _ memory: Int) async -> Bool {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    let waiter = Waiter(id: id, priority: priority, memory: memory, continuation: continuation)
                    if state.waiters.isEmpty, mayRun(waiter, state) {
                        admit(waiter, &state)
                        return true
                    }
                    let place = state.waiters.firstIndex { $0.priority < priority } ?? state.waiters.count
                    state.waiters.insert(waiter, at: place)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let (cancelled, next) = state.withLock { state -> (Waiter?, [Waiter]) in
                let index = state.waiters.firstIndex { $0.id == id }
                let cancelled = index.map { state.waiters.remove(at: $0) }
                // It may have been the one that the others waited behind.
                return (cancelled, admitted(&state))
            }
            cancelled?.continuation.resume(returning: false)
            for waiter in next { waiter.continuation.resume(returning: true) }
        }
    }

    private func leave(_ memory: Int) {
        let next = state.withLock { state in
            state.running -= 1
            state.memory -= memory
            return admitted(&state)
        }
        for waiter in next { waiter.continuation.resume(returning: true) }
    }

    private func mayRun(_ waiter: Waiter, _ state: State) -> Bool {
        state.running == 0 || (state.running < width && state.memory + waiter.memory <= memoryLimit)
    }

    private func admit(_ waiter: Waiter, _ state: inout State) {
        state.running += 1
        state.memory += waiter.memory
        state.peak = max(state.peak, state.memory)
    }

    /// Those whose turn it is now. The first in line is never overtaken, so that a large one gets its turn.
    private func admitted(_ state: inout State) -> [Waiter] {
        var next: [Waiter] = []
        while let first = state.waiters.first, mayRun(first, state) {
            state.waiters.removeFirst()
            admit(first, &state)
            next.append(first)
        }
        return next
    }
}
