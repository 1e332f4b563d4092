import ConcurrencyPrimitives

/// Tasks that several callers wait for, at most one for each key.
///
/// A subscriber joins the task that has its key, or starts one. Each subscriber may cancel its own wait. A task is cancelled when its last
/// subscription is released, or for all subscribers by ``cancel(where:)``; it cannot be joined after that. A subscriber whose own task is cancelled
/// already does not join a task: it starts one that is cancelled from the start and cannot be joined.
final class SharedTaskPool<Key: Hashable & Sendable, Context: Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, ImageCacheError>

    /// A task, and the context that its subscribers see while it runs.
    final class SharedTask: Sendable {
        let context: Context
        fileprivate let outcome = Promise<Outcome>()

        fileprivate init(_ context: Context) { self.context = context }
    }

    private struct Entry {
        let task: SharedTask
        /// The keys under which it can be joined.
        var keys: [Key]
        var subscriptions = 1
        var running: Task<Void, Never>?
    }

    private struct State {
        /// The tasks that have neither ended nor been cancelled.
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The tasks that can be joined.
        var joinable: [Key: SharedTask] = [:]

        mutating func remove(_ task: SharedTask) -> Entry? {
            withdraw(task)
            return entries.removeValue(forKey: ObjectIdentifier(task))
        }

        mutating func withdraw(_ task: SharedTask) {
            for key in entries[ObjectIdentifier(task)]?.keys ?? [] { joinable[key] = nil }
            entries[ObjectIdentifier(task)]?.keys = []
        }
    }

    private let state = Locked(State())

    // MARK: Subscribing

    /// Joins the task that has the key, or starts one.
    ///
    /// - Parameters:
    ///   - key: The key of the task. With `nil`, a new task is started, which has no key until ``publish(_:under:)``.
    ///   - executor: The executor of a new task; `nil` for the cooperative pool.
    ///   - work: The work of a new task. Its argument is the task itself.
    func subscribe(
        to key: Key?, _ context: @autoclosure () -> Context, on executor: BlockingExecutor? = nil,
        _ work: @escaping @Sendable (SharedTask) async throws(ImageCacheError) -> Value
    ) -> Subscription {
        let isCancelled = Task.isCancelled
        let key = isCancelled ? nil : key
        let (task, isFirst) = state.withLock { state in
            if let key, let task = state.joinable[key] {
                state.entries[ObjectIdentifier(task)]?.subscriptions += 1
                return (task, false)
            }
            let task = SharedTask(context())
            state.entries[ObjectIdentifier(task)] = Entry(task: task, keys: key.map { [$0] } ?? [])
            if let key { state.joinable[key] = task }
            return (task, true)
        }
        if isFirst { start(task, isCancelled: isCancelled, on: executor, work) }
        return Subscription(task, isFirst: isFirst, in: self)
    }

    /// Joins a task regardless of its keys; `nil` if it has ended or was cancelled.
    func join(_ task: SharedTask) -> Subscription? {
        let isUnderWay = state.withLock { state in
            guard state.entries[ObjectIdentifier(task)] != nil else { return false }
            state.entries[ObjectIdentifier(task)]?.subscriptions += 1
            return true
        }
        return isUnderWay ? Subscription(task, isFirst: false, in: self) : nil
    }

    private func start(
        _ task: SharedTask, isCancelled: Bool, on executor: BlockingExecutor?,
        _ work: @escaping @Sendable (SharedTask) async throws(ImageCacheError) -> Value
    ) {
        let running = Task(executorPreference: executor) {
            if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
            let outcome: Outcome
            do throws(ImageCacheError) { outcome = .success(try await work(task)) } catch { outcome = .failure(error) }
            // Released outside of the lock.
            _ = self.state.withLock { $0.remove(task) }
            task.outcome.fulfill(outcome)
        }
        let isOver = state.withLock { state in
            state.entries[ObjectIdentifier(task)]?.running = running
            return state.entries[ObjectIdentifier(task)] == nil
        }
        // It has ended, or was cancelled before it began.
        if isOver { running.cancel() }
    }

    private func leave(_ task: SharedTask) {
        let last = state.withLock { state -> Entry? in
            state.entries[ObjectIdentifier(task)]?.subscriptions -= 1
            return state.entries[ObjectIdentifier(task)]?.subscriptions == 0 ? state.remove(task) : nil
        }
        last?.running?.cancel()
    }

    // MARK: Keys

    /// Removes the task's keys, so that no later subscriber joins it by a key. Its subscribers keep it.
    func withdraw(_ task: SharedTask) { state.withLock { $0.withdraw(task) } }

    /// Adds a key under which the task can be joined, unless another task has the key.
    func publish(_ task: SharedTask, under key: Key) {
        state.withLock { state in
            guard state.joinable[key] == nil, state.entries[ObjectIdentifier(task)] != nil else { return }
            state.joinable[key] = task
            state.entries[ObjectIdentifier(task)]?.keys.append(key)
        }
    }

    // MARK: All tasks

    /// The contexts of the tasks in progress.
    var contexts: [Context] { state.withLock { $0.entries.values.map(\.task.context) } }

    /// Cancels tasks for all of their subscribers.
    func cancel(where isMeant: (Context) -> Bool) {
        let cancelled = state.withLock { state in
            state.entries.values.filter { isMeant($0.task.context) }.compactMap { state.remove($0.task) }
        }
        for entry in cancelled { entry.running?.cancel() }
    }

    /// Cancels a task for all of its subscribers.
    private func cancel(_ task: SharedTask) { state.withLock { $0.remove(task) }?.running?.cancel() }

    /// A caller's subscription to a task. Releasing the last one cancels the task.
    final class Subscription: Sendable {
        let task: SharedTask
        /// True if the subscription started the task, false if it joined it.
        let isFirst: Bool
        private let pool: SharedTaskPool

        fileprivate init(_ task: SharedTask, isFirst: Bool, in pool: SharedTaskPool) {
            self.task = task
            self.isFirst = isFirst
            self.pool = pool
        }

        deinit { pool.leave(task) }

        var context: Context { task.context }

        /// Cancels the task for all of its subscribers.
        func cancelTask() { pool.cancel(task) }

        /// Keeps the task running until it ends, although its caller does not wait for it.
        func keepUntilEnd() { Task.detached { _ = await self.outcome() } }

        /// The result, or `.cancelled` as soon as the calling task is cancelled.
        func outcome() async -> Outcome { await task.outcome.value() ?? .failure(.cancelled) }

        func value() async throws(ImageCacheError) -> Value { try await outcome().get() }
    }
}

extension ImageCacheError {
    package static var cancelled: ImageCacheError { ImageCacheError(.cancelled, message: "cancelled") }
}
