import ConcurrencyPrimitives

/// Changes that wait for the next transaction.
struct WaitingChanges {
    typealias Continuation = UnsafeContinuation<Result<Generation?, StoreError>, Never>
    typealias Element = (change: SharedChange, continuation: Continuation)

    private var elements: [Element] = []
    private var hasRound = false

    /// - Returns: True if a round must be started for the change.
    mutating func add(_ change: SharedChange, _ continuation: Continuation) -> Bool {
        elements.append((change, continuation))
        defer { hasRound = true }
        return !hasRound
    }

    /// Takes the first changes.
    mutating func take(atMost count: Int) -> [Element] {
        let taken = Array(elements.prefix(count))
        elements.removeFirst(taken.count)
        return taken
    }

    /// - Returns: True if another round is needed.
    mutating func endRound() -> Bool {
        hasRound = !elements.isEmpty
        return hasRound
    }
}

extension DiskStore {
    /// Performs a change in one transaction with other changes that are ready at the same time.
    ///
    /// A single caller does not wait for others. While a transaction runs, further changes collect for the next one. Before a transaction
    /// begins, the executor's waiting work runs, which may add more changes.
    func perform(_ change: SharedChange, on executor: BlockingExecutor) async throws(StoreError) -> Generation? {
        let result = await withUnsafeContinuation { (continuation: WaitingChanges.Continuation) in
            if waitingChanges.withLock({ $0.add(change, continuation) }) { startRound(on: executor) }
        }
        return try result.get()
    }

    private func startRound(on executor: BlockingExecutor) {
        executor.runBehindWaitingWork { self.runRound(on: executor) }
    }

    private func runRound(on executor: BlockingExecutor) {
        let round = waitingChanges.withLock { $0.take(atMost: Self.mostSharing) }
        for (result, waiting) in zip(perform(round.map(\.change)), round) {
            waiting.continuation.resume(returning: result)
        }
        if waitingChanges.withLock({ $0.endRound() }) { startRound(on: executor) }
    }

    /// The number of changes in one transaction: others wait for the index meanwhile.
    private static let mostSharing = 64

    /// Performs several changes in one transaction, or in as few as work: the first that needs an eviction, or fails, has its own.
    func perform(_ changes: [SharedChange]) -> [Result<Generation?, StoreError>] {
        guard changes.count > 1 else { return changes.map(perform) }
        do throws(StoreError) {
            let results = try withIndex { (index) throws(StoreError) in
                changes.count > index.budget.evictionBatch ? nil : try index.performTogether(changes)
            }
            if let results { return results }
        } catch  where error.code == .busy {
            // One wait for all of them.
            return changes.map { _ in .failure(error) }
        } catch {
            // Each by itself tells its own failure.
        }
        let half = changes.count / 2
        return perform(Array(changes[..<half])) + perform(Array(changes[half...]))
    }

    private func perform(_ change: SharedChange) -> Result<Generation?, StoreError> {
        do throws(StoreError) {
            return .success(try withIndex { (index) throws(StoreError) in try index.perform(change) })
        } catch {
            return .failure(error)
        }
    }
}
