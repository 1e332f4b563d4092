import Locking

/// Work under way that several callers wait for. Each may cancel alone; the work is cancelled when the last one has.
final class SharedWork<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, ImageCacheError>

    private struct State {
        var task: Task<Void, Never>?
        var hasEnded = false
        var interests = 0
        var isAbandoned = false
    }

    private let state = Locked(State())
    private let result = Promise<Outcome>()
    private let onEnd: @Sendable (SharedWork) -> Void

    /// - Parameter onEnd: called when nobody should join any more: the work has ended, or was abandoned. An abandoned one
    ///   ends as well, so that it may come twice.
    init(onEnd: @escaping @Sendable (SharedWork) -> Void) { self.onEnd = onEnd }

    /// Starts the work. Called once, right after creation.
    ///
    /// - Parameters:
    ///   - executor: where it runs; `nil`: the cooperative pool.
    ///   - priority: `nil`: the caller's.
    func start(
        on executor: BlockingExecutor? = nil, priority: TaskPriority? = nil,
        _ work: @escaping @Sendable () async throws(ImageCacheError) -> Value
    ) {
        let task = Task(executorPreference: executor, priority: priority) {
            let outcome: Outcome
            do throws(ImageCacheError) { outcome = .success(try await work()) } catch { outcome = .failure(error) }
            self.onEnd(self)
            self.state.withLock { state in
                state.hasEnded = true
                state.task = nil
            }
            self.result.fulfill(outcome)
        }
        let isAbandoned = state.withLock { state in
            if !state.hasEnded { state.task = task }
            return state.isAbandoned
        }
        if isAbandoned { task.cancel() }
    }

    /// `nil` when it has been abandoned already: start another one.
    func join() -> Interest? {
        let joined = state.withLock { state in
            guard !state.isAbandoned else { return false }
            state.interests += 1
            return true
        }
        return joined ? Interest(self) : nil
    }

    private func leave() {
        abandon { state in
            state.interests -= 1
            return state.interests == 0 && !state.hasEnded
        }
    }

    /// Stops the work for everybody.
    func cancelAll() { abandon { _ in true } }

    private func abandon(if isToEnd: (inout State) -> Bool) {
        let abandoned = state.withLock { state -> Task<Void, Never>?? in
            guard isToEnd(&state) else { return nil }
            state.isAbandoned = true
            return .some(state.task)
        }
        guard let task = abandoned else { return }
        onEnd(self)
        task?.cancel()
    }

    /// One party's interest; letting go of the last one stops the work.
    final class Interest: Sendable {
        private let work: SharedWork

        fileprivate init(_ work: SharedWork) { self.work = work }

        deinit { work.leave() }

        /// The result, or `.cancelled` as soon as the calling task is cancelled.
        func outcome() async -> Outcome { await work.result.value() ?? .failure(.cancelled) }

        func value() async throws(ImageCacheError) -> Value { try await outcome().get() }
    }
}

extension ImageCacheError {
    static var cancelled: ImageCacheError { ImageCacheError(.cancelled, message: "cancelled") }
}
