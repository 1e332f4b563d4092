/// Limits how many tasks do something at a time; the others wait, in the order in which they came.
package final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiters: [Promise<Bool>] = []
    }

    private let state: Locked<State>

    /// - Parameter count: The number of tasks at a time, at least 1.
    package init(_ count: Int) { state = Locked(State(free: max(1, count))) }

    /// Takes a permit if one is free and no caller waits for it.
    package func tryAcquire() -> Bool {
        state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
    }

    /// Takes a place, when it is the task's turn.
    ///
    /// - Returns: False if the task was cancelled meanwhile: it has none.
    package func acquire() async -> Bool {
        if Task.isCancelled { return false }
        let waiter = state.withLock { state -> Promise<Bool>? in
            guard state.free == 0 else {
                state.free -= 1
                return nil
            }
            let waiter = Promise<Bool>()
            state.waiters.append(waiter)
            return waiter
        }
        guard let waiter else { return true }
        if await waiter.value() != nil { return true }
        let hasPlace = state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0 === waiter }) else { return true }
            state.waiters.remove(at: index)
            return false
        }
        // Its turn has come at the same moment.
        if hasPlace { release() }
        return false
    }

    /// Gives a place back.
    package func release() {
        let next = state.withLock { state -> Promise<Bool>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
            state.free += 1
            return nil
        }
        next?.fulfill(true)
    }
}
