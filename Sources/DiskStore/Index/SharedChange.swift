import ConcurrencyPrimitives

/// A change of the index that may share its transaction with the changes of other callers (group commit).
///
/// `@unchecked Sendable`: the closures are called by one thread at a time, while the caller of the change waits for its result.
struct SharedChange: @unchecked Sendable {
    /// The results that concern the store beyond the rows themselves.
    struct Effects {
        /// Entries that were marked for deletion. Their files are deleted when the transaction is durable.
        var replaced: [Int64] = []
        /// The generation of the changed resource, as it was recorded inside the transaction.
        var noted: Generation?
    }

    /// The number of bytes by which the store grows.
    var growth: Int64 = 0
    /// Changes the rows, inside a transaction.
    ///
    /// ``StoreError/Code/outdated`` is thrown before anything was changed. After any other error the transaction is rolled back.
    let perform: (Index, inout Totals) throws(StoreError) -> Effects
    /// Undoes the changes outside of the index, after a transaction that did not become durable. May be called several times.
    var undo: () -> Void = {}
}

extension Index {
    /// Performs a change in its own transaction, evicting as necessary.
    ///
    /// - Returns: The resource's generation after the change.
    func perform(_ change: SharedChange) throws(StoreError) -> Generation? {
        let effects: SharedChange.Effects
        do throws(StoreError) {
            let work = { (totals: inout Totals) throws(StoreError) -> SharedChange.Effects in
                change.undo()  // An attempt that did not become durable.
                return try change.perform(self, &totals)
            }
            if change.growth > 0 {
                effects = try changeWithRoom(for: change.growth, work)
            } else {
                effects = try self.change(work)
            }
        } catch {
            change.undo()
            throw error
        }
        return finish([effects])[0]
    }

    /// Performs several changes in one transaction if all of them fit without an eviction.
    ///
    /// - Returns: The results in order, or `nil` if none of the changes was made, because one of them failed or they do not fit.
    /// - Throws: ``StoreError/Code/busy`` if none of them was made.
    func performTogether(_ changes: [SharedChange]) throws(StoreError) -> [Result<Generation?, StoreError>]? {
        let growth = changes.reduce(0) { $0 + $1.growth }
        var effects: [Result<SharedChange.Effects, StoreError>] = []
        do throws(StoreError) {
            let fit = try change { (totals) throws(StoreError) in
                guard totals.hasUncountedFiles == 0 else { return false }
                if growth > 0, try usage(totals, beforeWriting: growth).shortage(of: growth) > 0 { return false }
                for change in changes { effects.append(try attempt(change, &totals)) }
                return true
            }
            guard fit else { return nil }
        } catch {
            for change in changes { change.undo() }
            if error.code == .busy { throw error }
            return nil
        }
        let generations = finish(effects.map { (try? $0.get()) ?? SharedChange.Effects() })
        return zip(effects, generations).map { effects, generation in effects.map { _ in generation } }
    }

    private func attempt(
        _ change: SharedChange, _ totals: inout Totals
    ) throws(StoreError) -> Result<SharedChange.Effects, StoreError> {
        do throws(StoreError) {
            return .success(try change.perform(self, &totals))
        } catch {
            guard error.code == .outdated else { throw error }
            return .failure(error)
        }
    }

    /// Deletes the files that the changes have replaced. The changes are durable, so failures from here on are left to the next sweep.
    private func finish(_ effects: [SharedChange.Effects]) -> [Generation?] {
        _ = try? deleteDoomed(effects.flatMap(\.replaced))
        return effects.map(\.noted)
    }
}

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
            // The changes have waited together, so all of them fail.
            return changes.map { _ in .failure(error) }
        } catch {
            // Smaller groups are tried, so that only the changes that fail report an error.
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
