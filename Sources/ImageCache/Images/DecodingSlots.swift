import ConcurrencyPrimitives
import ImageCodec
import Transfer

/// Limits concurrent decodes by number and by memory. Waiting decodes start in the order of priority. Within a priority, clients take
/// turns, and so do the originals of a client.
///
/// While others wait, a client that holds its share of the slots or of the memory goes last. Slots that no other client wants are used.
///
/// A burst of large images therefore does not exceed the memory limit, and many sizes of one original do not delay other originals.
final class DecodingSlots: Sendable {
    /// The properties of a decode that determine its place in the queue.
    struct Ticket: Sendable {
        var priority: TransferPriority
        /// The original, which takes turns with others of the same client.
        var owner: ResourceKey?
        /// The amount of work in pixels.
        var cost: Int
        /// The client that the work is charged to. Work without a client takes turns as if it were of one client, but has no limit.
        var client: String?
    }

    private struct Waiter {
        let ticket: Ticket
        /// The required memory in bytes; called when the decode is next.
        let memory: @Sendable () -> Int
        /// The place in the fair queue of owners: the amount of its owner's work before it.
        let start: UInt64
        let admission = Promise<Int>()
    }

    private struct State {
        var slots: ShareLimiter
        /// In bytes.
        var memory: ShareLimiter
        /// In the order of priority, start and arrival.
        var waiters: [Waiter] = []
        /// Originals take turns.
        var originals = FairQueue<ResourceKey>()
        /// Clients take turns.
        var shares = FairQueue<String?>()
        /// The highest memory in use so far, in bytes.
        var peak = 0
        /// The memory of the next waiter, once it was computed.
        var nextMemory: (waiter: Promise<Int>, bytes: Int)?

        /// The index of the next waiter: among those with the highest priority, the first one of the client that had the least work.
        /// Clients that hold their share come after all others.
        var next: Int? {
            guard let priority = waiters.first?.ticket.priority else { return nil }
            return waiters.prefix { $0.ticket.priority == priority }.indices.min {
                let (one, other) = (waiters[$0].ticket.client, waiters[$1].ticket.client)
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
    ///   - width: The maximum number of concurrent decodes.
    ///   - widthPerClient: The maximum number for one client while others wait; nil: a quarter of `width`, at least 1.
    ///   - memoryLimit: The memory limit of all decodes in bytes. A decode that needs more runs alone. A client's share is a quarter.
    init(width: Int, widthPerClient: Int? = nil, memoryLimit: Int) {
        state = Locked(
            State(
                slots: ShareLimiter(ShareLimiter.Limits(total: max(1, width), perClient: widthPerClient)),
                memory: ShareLimiter(ShareLimiter.Limits(total: memoryLimit))))
    }

    var peakMemory: Int { state.withLock { $0.peak } }
    var waiting: Int { state.withLock { $0.waiters.count } }
    var running: Int { state.withLock { $0.slots.used } }

    /// Waits for its turn, then runs `work` on the executor's threads.
    ///
    /// - Parameter memory: Returns the required memory in bytes, always the same value; called when no other decode is ahead.
    func run<Value: Sendable>(
        _ ticket: Ticket, memory: @escaping @Sendable () -> Int, on executor: BlockingExecutor,
        _ work: @escaping @Sendable () throws(ImageCacheError) -> Value
    ) async throws(ImageCacheError) -> Value {
        guard let memory = await enter(ticket, memory) else { throw .cancelled }
        defer { leave(memory, ticket.client) }
        return try await executor.run(work)
    }

    /// - Returns: The granted memory in bytes; nil if the task was cancelled while waiting.
    private func enter(_ ticket: Ticket, _ memory: @escaping @Sendable () -> Int) async -> Int? {
        if Task.isCancelled { return nil }
        let (admission, first) = state.withLock { state in
            let start = ticket.owner.map { state.originals.enter($0, cost: ticket.cost) } ?? state.originals.now
            let waiter = Waiter(ticket: ticket, memory: memory, start: start)
            let place = state.waiters.firstIndex { Self.isBefore(waiter, $0) } ?? state.waiters.count
            state.waiters.insert(waiter, at: place)
            return (waiter.admission, admitted(&state))
        }
        begin(first)
        if let granted = await admission.value() { return granted }
        let (wasWaiting, next) = state.withLock { state in
            let index = state.waiters.firstIndex { $0.admission === admission }
            if let index {
                state.waiters.remove(at: index)
                if let owner = ticket.owner { state.originals.withdraw(owner, cost: ticket.cost) }
            }
            // The removed waiter may have blocked the others.
            return (index != nil, admitted(&state))
        }
        begin(next)
        // It may have been admitted at the same time.
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
        if left.ticket.priority != right.ticket.priority { return left.ticket.priority > right.ticket.priority }
        return left.start < right.start
    }

    /// The waiters that can start now. No waiter overtakes one that needs more memory, so that large images get their turn.
    private func admitted(_ state: inout State) -> [(Waiter, Int)] {
        var admitted: [(Waiter, Int)] = []
        while state.slots.shortage(for: nil) == nil, let index = state.next {
            let memory = state.memory(of: state.waiters[index])
            guard state.slots.used == 0 || state.memory.shortage(of: memory, for: nil) == nil else { break }
            let waiter = state.waiters.remove(at: index)
            state.originals.begin(waiter.start)
            state.shares.begin(state.shares.enter(waiter.ticket.client, cost: waiter.ticket.cost))
            state.slots.takeUnconditionally(for: waiter.ticket.client)
            state.memory.takeUnconditionally(memory, for: waiter.ticket.client)
            state.peak = max(state.peak, state.memory.used)
            admitted.append((waiter, memory))
        }
        if state.waiters.isEmpty {
            state.originals.reset()
            state.shares.reset()
        }
        return admitted
    }
}
