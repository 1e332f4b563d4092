import Locking

/// Work under way that several callers wait for. Each may cancel alone; the work is cancelled when the last one has.
final class SharedWork<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, ImageCacheError>

    private struct State {
        var task: Task<Void, Never>?
        var outcome: Outcome?
        var interests = 0
        var isAbandoned = false
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Outcome, Never>] = [:]
    }

    private let state = Locked(State())
    private let onEnd: @Sendable (SharedWork) -> Void

    /// - Parameter onEnd: called when nobody may join any more: the work has ended, or was abandoned.
    init(onEnd: @escaping @Sendable (SharedWork) -> Void) { self.onEnd = onEnd }

    /// Starts the work. Called once, right after creation.
    func start(_ work: @escaping @Sendable (SharedWork) async throws(ImageCacheError) -> Value) {
        let task = Task {
            let outcome: Outcome
            do throws(ImageCacheError) { outcome = .success(try await work(self)) } catch { outcome = .failure(error) }
            self.onEnd(self)
            self.finish(outcome)
        }
        let isAbandoned = state.withLock { state in
            if state.outcome == nil { state.task = task }
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
        let abandoned = state.withLock { state -> Task<Void, Never>?? in
            state.interests -= 1
            guard state.interests == 0, state.outcome == nil else { return nil }
            state.isAbandoned = true
            return .some(state.task)
        }
        guard let task = abandoned else { return }
        onEnd(self)
        task?.cancel()
    }

    private func finish(_ outcome: Outcome) {
        let waiters = state.withLock { state in
            state.outcome = outcome
            state.task = nil
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    private func outcome() async -> Outcome {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: Outcome? = state.withLock { state in
                    if let outcome = state.outcome { return outcome }
                    if Task.isCancelled { return .failure(.cancelled) }
                    state.waiters[id] = continuation
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: .failure(.cancelled))
        }
    }

    /// One party's interest; letting go of the last one stops the work.
    final class Interest: Sendable {
        private let work: SharedWork

        fileprivate init(_ work: SharedWork) { self.work = work }

        deinit { work.leave() }

        /// The result, or `.cancelled` as soon as the calling task is cancelled.
        func value() async throws(ImageCacheError) -> Value { try await work.outcome().get() }
    }
}

extension ImageCacheError {
    static var cancelled: ImageCacheError { ImageCacheError(.cancelled, message: "cancelled") }
}
