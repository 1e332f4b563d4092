import Locking

/// Lets so many requests run at a time, in all and of one client; others wait in a queue of bounded length, first come, first
/// served. A client at its own limit does not hold up those behind it.
final class Admission: Sendable {
    struct Limits: Sendable, Hashable {
        /// Requests that run, in all.
        var running = 1024
        /// Requests of one client that run.
        var runningPerClient = 512
        /// Requests that wait.
        var waiting = 1024
        /// Seconds after which a refused client may ask again.
        var retryAfter = 1
    }

    enum Refusal: Error {
        case full
        case cancelled
    }

    private struct Waiter {
        var number: Int
        var client: String
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var limits: Limits
        var running = 0
        var perClient: [String: Int] = [:]
        var queue: [Waiter] = []
        var numbers = 0
        /// Those who have been sent to the queue and are not in it yet. Cancelled meanwhile, they are taken out of here.
        var arriving: Set<Int> = []

        func hasRoom(for client: String) -> Bool {
            running < limits.running && perClient[client, default: 0] < limits.runningPerClient
        }

        mutating func start(_ client: String) {
            running += 1
            perClient[client, default: 0] += 1
        }

        /// Those who wait and whose turn has come.
        mutating func admitted() -> [CheckedContinuation<Bool, Never>] {
            var admitted: [CheckedContinuation<Bool, Never>] = []
            var index = 0
            while index < queue.count, running < limits.running {
                guard hasRoom(for: queue[index].client) else {
                    index += 1
                    continue
                }
                let waiter = queue.remove(at: index)
                start(waiter.client)
                admitted.append(waiter.continuation)
            }
            return admitted
        }
    }

    private let state: Locked<State>

    init(_ limits: Limits) { state = Locked(State(limits: limits)) }

    var limits: Limits {
        get { state.withLock { $0.limits } }
        set {
            state.withLock { state in
                state.limits = newValue
                return state.admitted()
            }.forEach { $0.resume(returning: true) }
        }
    }

    var counts: (running: Int, waiting: Int) { state.withLock { ($0.running, $0.queue.count) } }

    /// Waits for a turn. Each success is followed by one ``leave(_:)``.
    func enter(_ client: String) async throws(Refusal) {
        let number = try state.withLock { state throws(Refusal) -> Int? in
            if state.hasRoom(for: client) {
                state.start(client)
                return nil
            }
            let own = state.queue.reduce(0) { $0 + ($1.client == client ? 1 : 0) }
            guard state.queue.count < state.limits.waiting, own < max(state.limits.runningPerClient, 1) else {
                throw .full
            }
            state.numbers += 1
            state.arriving.insert(state.numbers)
            return state.numbers
        }
        guard let number else { return }
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                wait(Waiter(number: number, client: client, continuation: continuation))
            }
        } onCancel: {
            cancel(number)
        }
        guard isAdmitted else { throw .cancelled }
    }

    func leave(_ client: String) {
        let admitted = state.withLock { state in
            state.running -= 1
            if let count = state.perClient[client] { state.perClient[client] = count > 1 ? count - 1 : nil }
            return state.admitted()
        }
        for continuation in admitted { continuation.resume(returning: true) }
    }

    private func wait(_ waiter: Waiter) {
        let (isCancelled, admitted) = state.withLock { state -> (Bool, [CheckedContinuation<Bool, Never>]) in
            guard state.arriving.remove(waiter.number) != nil else { return (true, []) }
            state.queue.append(waiter)
            // A place may have become free since it was asked for.
            return (false, state.admitted())
        }
        if isCancelled { waiter.continuation.resume(returning: false) }
        for continuation in admitted { continuation.resume(returning: true) }
    }

    private func cancel(_ number: Int) {
        let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            if let index = state.queue.firstIndex(where: { $0.number == number }) {
                return state.queue.remove(at: index).continuation
            }
            state.arriving.remove(number)
            return nil
        }
        continuation?.resume(returning: false)
    }
}
