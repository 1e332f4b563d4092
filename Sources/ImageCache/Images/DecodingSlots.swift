import ConcurrencyPrimitives
import ImageCodec
import Transfer

/// Limits how many decodes run at a time, by threads and by memory; the others wait in order of priority, and within a priority so
/// that each client gets its share, and of a client's share each original.
///
/// While others wait, a client holds at most its share of the slots and of the memory: whoever is below it goes first. A slot that
/// nobody else wants is not left idle.
///
/// A burst of large images so takes its turns instead of adding up, and many sizes of one original do not hold up the others.
final class DecodingSlots: Sendable {
    /// Which place a decode has in the line.
    struct Turn: Sendable {
        var priority: TransferPriority
        /// Those of one owner take their turns with those of others.
        var owner: ResourceKey?
        /// A measure of the work: pixels.
        var cost: Int
        /// The client that the work is charged to; nil is one, too: nobody in particular.
        var client: String?
    }

    private struct Waiter {
        let turn: Turn
        /// Bytes; asked for when it is the next.
        let memory: @Sendable () -> Int
        /// Where its owner stands: what the owner has had before it, in a line that all owners go along at the same pace.
        let start: Double
        let admission = Promise<Int>()
    }

    private struct State {
        var slots: ShareLimiter
        /// Bytes.
        var memory: ShareLimiter
        /// By priority, then by start, then by arrival.
        var waiters: [Waiter] = []
        var line = FairLine()
        var shares = FairQueue<String?>()
        /// The most memory that was ever granted at a time.
        var peak = 0
        /// The memory of the one whose turn is next, once it was asked for.
        var nextMemory: (waiter: Promise<Int>, bytes: Int)?

        /// The one whose turn is next: of those with the highest priority the first of the client that has had least, clients that
        /// hold their share after all others.
        var next: Int? {
            guard let priority = waiters.first?.turn.priority else { return nil }
            return waiters.prefix { $0.turn.priority == priority }.indices.min {
                let (one, other) = (waiters[$0].turn.client, waiters[$1].turn.client)
                if one == other { return false }
                let holds = (holdsShare(one), holdsShare(other))
                return holds.0 == holds.1 ? shares.start(of: one) < shares.start(of: other) : holds.1
            }
        }

        private func holdsShare(_ client: String?) -> Bool {
            slots.shortage(for: client) == .client || memory.shortage(for: client) == .client
        }

        mutating func memory(of waiter: Waiter) -> Int {
            if let nextMemory, nextMemory.waiter === waiter.admission { return nextMemory.bytes }
            let bytes = waiter.memory()
            nextMemory = (waiter.admission, bytes)
            return bytes
        }
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - width: decodes at a time.
    ///   - widthPerClient: those of one client while others wait; nil: a quarter, at least 1.
    ///   - memoryLimit: bytes for all of them together; one that alone needs more runs alone. A client's share is a quarter.
    init(width: Int, widthPerClient: Int? = nil, memoryLimit: Int) {
        state = Locked(
            State(
                slots: ShareLimiter(ShareLimiter.Limits(total: max(1, width), perClient: widthPerClient)),
                memory: ShareLimiter(ShareLimiter.Limits(total: memoryLimit))))
    }

    var peakMemory: Int { state.withLock { $0.peak } }
    var waiting: Int { state.withLock { $0.waiters.count } }
    var running: Int { state.withLock { $0.slots.used } }

    /// Runs `work` when it is its turn, on the executor's threads.
    ///
    /// - Parameter memory: Gives the bytes that it takes, always the same; called when no other decode is before it any more.
    func run<Value: Sendable>(
        _ turn: Turn, memory: @escaping @Sendable () -> Int, on executor: BlockingExecutor,
        _ work: @escaping @Sendable () throws(ImageCacheError) -> Value
    ) async throws(ImageCacheError) -> Value {
        guard let memory = await enter(turn, memory) else { throw .cancelled }
        defer { leave(memory, turn.client) }
        return try await executor.run(work)
    }

    /// - Returns: The memory that it was granted; nil when the task was cancelled while it waited.
    private func enter(_ turn: Turn, _ memory: @escaping @Sendable () -> Int) async -> Int? {
        if Task.isCancelled { return nil }
        let (admission, first) = state.withLock { state in
            let waiter = Waiter(turn: turn, memory: memory, start: state.line.enter(turn))
            let place = state.waiters.firstIndex { Self.isBefore(waiter, $0) } ?? state.waiters.count
            state.waiters.insert(waiter, at: place)
            return (waiter.admission, admitted(&state))
        }
        begin(first)
        if let granted = await admission.value() { return granted }
        let (wasWaiting, next) = state.withLock { state in
            let index = state.waiters.firstIndex { $0.admission === admission }
            if let index {
                state.line.leave(state.waiters.remove(at: index).turn)
            }
            // It may have been the one that the others waited behind.
            return (index != nil, admitted(&state))
        }
        begin(next)
        // Its turn may have come at the same moment.
        return wasWaiting ? nil : admission.settled()
    }

    private func leave(_ memory: Int, _ client: String?) {
        let next = state.withLock { state in
            state.slots.release(for: client)
            state.memory.release(memory, for: client)
            return admitted(&state)
        }
        begin(next)
    }

    private func begin(_ waiters: [(Waiter, Int)]) {
        for (waiter, memory) in waiters { waiter.admission.fulfill(memory) }
    }

    private static func isBefore(_ left: Waiter, _ right: Waiter) -> Bool {
        if left.turn.priority != right.turn.priority { return left.turn.priority > right.turn.priority }
        return left.start < right.start
    }

    /// Those whose turn it is now. None is overtaken for want of memory, so that a large one gets its turn.
    private func admitted(_ state: inout State) -> [(Waiter, Int)] {
        var admitted: [(Waiter, Int)] = []
        while state.slots.shortage(for: nil) == nil, let index = state.next {
            let memory = state.memory(of: state.waiters[index])
            guard state.slots.used == 0 || state.memory.shortage(of: memory, for: nil) == nil else { break }
            let waiter = state.waiters.remove(at: index)
            state.line.begin(waiter.turn, start: waiter.start)
            state.shares.begin(state.shares.enter(waiter.turn.client, cost: waiter.turn.cost))
            state.slots.takeUnconditionally(for: waiter.turn.client)
            state.memory.takeUnconditionally(memory, for: waiter.turn.client)
            state.peak = max(state.peak, state.memory.used)
            admitted.append((waiter, memory))
        }
        if state.waiters.isEmpty { state.shares.reset() }
        return admitted
    }
}

/// Start-time fair queueing: each owner's work is lined up behind its own, and time goes on as work is begun, shared by those who wait.
struct FairLine {
    private struct Owner {
        var finish: Double
        var waiting = 0
    }

    private var now = 0.0
    private var owners: [ResourceKey: Owner] = [:]

    var count: Int { owners.count }

    /// - Returns: where the work stands.
    mutating func enter(_ turn: DecodingSlots.Turn) -> Double {
        guard let name = turn.owner else { return now }
        let start = max(now, owners[name]?.finish ?? 0)
        owners[name, default: Owner(finish: 0)].finish = start + Double(turn.cost)
        owners[name]?.waiting += 1
        return start
    }

    mutating func begin(_ turn: DecodingSlots.Turn, start: Double) {
        now = max(now, start) + Double(turn.cost) / Double(max(1, owners.count { $0.value.waiting > 0 }))
        left(turn)
    }

    /// Work that will not be done takes no part in its owner's share.
    mutating func leave(_ turn: DecodingSlots.Turn) {
        if let name = turn.owner { owners[name]?.finish -= Double(turn.cost) }
        left(turn)
    }

    private mutating func left(_ turn: DecodingSlots.Turn) {
        guard let name = turn.owner, let owner = owners[name] else { return }
        owners[name]?.waiting -= 1
        // One whose share is in the past is as good as new.
        if owner.waiting <= 1, owner.finish <= now { owners[name] = nil }
        if owners.allSatisfy({ $0.value.waiting == 0 }) {
            owners = [:]
        } else if owners.count > 256 {
            owners = owners.filter { $0.value.waiting > 0 || $0.value.finish > now }
        }
    }
}
