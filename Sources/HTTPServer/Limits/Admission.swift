package import ConcurrencyPrimitives

/// Limits the number of running requests, in total and for each client; others wait in a queue with similar limits.
/// Waiting clients take turns, and a client at its own limit does not delay those behind it.
package final class Admission: Sendable {
    package struct Limits: Sendable, Hashable {
        /// The limits of running requests.
        package var running: ShareLimiter.Limits
        /// The limits of waiting requests.
        package var waiting: ShareLimiter.Limits
        /// The time in seconds after which a refused client may retry.
        package var retryAfter: Int

        package init(
            running: ShareLimiter.Limits = .init(total: 1024), waiting: ShareLimiter.Limits = .init(total: 1024),
            retryAfter: Int = 1
        ) {
            self.running = running
            self.waiting = waiting
            self.retryAfter = retryAfter
        }
    }

    enum Rejection: Error, Hashable {
        /// The queue is full, or contains the client's share.
        case full(ShareLimiter.Shortage)
        case cancelled
    }

    private struct Waiter {
        var number: Int
        var tag: UInt64
        var client: String
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var retryAfter: Int
        var running: ShareLimiter
        /// Requests in the queue, and those about to enter it.
        var waiting: ShareLimiter
        var order = FairQueue<String>()
        /// Ordered by tag, then by arrival.
        var queue: [Waiter] = []
        var numbers = 0
        /// Requests about to enter the queue, with their tags; removed if they are cancelled.
        var arriving: [Int: UInt64] = [:]

        init(_ limits: Limits) {
            retryAfter = limits.retryAfter
            running = ShareLimiter(limits.running)
            waiting = ShareLimiter(limits.waiting)
        }

        mutating func enqueue(_ waiter: Waiter) {
            let place = queue.firstIndex { $0.tag > waiter.tag } ?? queue.count
            queue.insert(waiter, at: place)
        }

        mutating func stopWaiting(_ client: String) {
            waiting.release(for: client)
            if waiting.used == 0 { order.reset() }
        }

        /// Forgets a waiting request that was cancelled. If it was the client's last, the cancelled ones do not set the client back.
        mutating func withdraw(_ client: String) {
            stopWaiting(client)
            if waiting.used(by: client) == 0 { order.forget(client) }
        }

        /// Removes and returns the waiting requests to be admitted.
        mutating func admitted() -> [CheckedContinuation<Bool, Never>] {
            var admitted: [CheckedContinuation<Bool, Never>] = []
            var index = 0
            while index < queue.count, running.used < running.limits.total {
                let waiter = queue[index]
                guard running.shortage(for: waiter.client) == nil else {
                    index += 1
                    continue
                }
                queue.remove(at: index)
                running.takeUnconditionally(for: waiter.client)
                order.begin(waiter.tag)
                stopWaiting(waiter.client)
                admitted.append(waiter.continuation)
            }
            return admitted
        }
    }

    private let state: Locked<State>

    package init(_ limits: Limits) { state = Locked(State(limits)) }

    var retryAfter: Int { state.withLock { $0.retryAfter } }

    /// Applies other limits, also to waiting requests.
    package func update(_ limits: Limits) {
        state.withLock { state in
            state.retryAfter = limits.retryAfter
            state.running.limits = limits.running
            state.waiting.limits = limits.waiting
            return state.admitted()
        }.forEach { $0.resume(returning: true) }
    }

    package var counts: (running: Int, waiting: Int) { state.withLock { ($0.running.used, $0.queue.count) } }

    /// Waits for admission. Each success must be followed by one ``leave(_:)``.
    func enter(_ client: String) async throws(Rejection) {
        let number = try state.withLock { state throws(Rejection) -> Int? in
            if state.running.shortage(for: client) == nil {
                state.running.takeUnconditionally(for: client)
                return nil
            }
            if let shortage = state.waiting.shortage(for: client) { throw .full(shortage) }
            state.waiting.takeUnconditionally(for: client)
            state.numbers += 1
            state.arriving[state.numbers] = state.order.enter(client)
            return state.numbers
        }
        guard let number else { return }
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { wait(number, client, $0) }
        } onCancel: {
            cancel(number, client)
        }
        guard isAdmitted else { throw .cancelled }
    }

    func leave(_ client: String) {
        let admitted = state.withLock { state in
            state.running.release(for: client)
            return state.admitted()
        }
        for continuation in admitted { continuation.resume(returning: true) }
    }

    private func wait(_ number: Int, _ client: String, _ continuation: CheckedContinuation<Bool, Never>) {
        let (isCancelled, admitted) = state.withLock { state -> (Bool, [CheckedContinuation<Bool, Never>]) in
            guard let tag = state.arriving.removeValue(forKey: number) else { return (true, []) }
            state.enqueue(Waiter(number: number, tag: tag, client: client, continuation: continuation))
            // A place may have become free meanwhile.
            return (false, state.admitted())
        }
        if isCancelled { continuation.resume(returning: false) }
        for continuation in admitted { continuation.resume(returning: true) }
    }

    private func cancel(_ number: Int, _ client: String) {
        let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            if let index = state.queue.firstIndex(where: { $0.number == number }) {
                let waiter = state.queue.remove(at: index)
                state.withdraw(client)
                return waiter.continuation
            }
            if state.arriving.removeValue(forKey: number) != nil { state.withdraw(client) }
            return nil
        }
        continuation?.resume(returning: false)
    }
}
