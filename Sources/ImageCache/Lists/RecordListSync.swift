/// A sync of a ``RecordList`` under way: its changes as they happen.
///
///     for try await change in list.sync() {
///         if case .records(let records) = change { show(records) }
///     }
///
/// Dropping it, or cancelling the task that iterates, stops the sync; what was stored is kept, and the next one goes on.
public final class RecordListSync: AsyncSequence, Sendable {
    public typealias Element = RecordListChange

    private let channel = ChangeChannel<RecordListChange>()
    private let task: Task<Void, Never>

    init(
        on executor: any TaskExecutor,
        _ work:
            @escaping @Sendable (_ send: @escaping @Sendable (RecordListChange) async -> Void)
            async throws(ImageCacheError) -> Void
    ) {
        task = Task(executorPreference: executor) { [channel] in
            do throws(ImageCacheError) {
                try await work { await channel.send($0) }
                channel.finish(.success(()))
            } catch {
                channel.finish(.failure(error))
            }
        }
    }

    deinit {
        task.cancel()
        channel.close()
    }

    /// An iterator over the changes of a sync.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let sync: RecordListSync

        /// - Throws: ``ImageCacheError``, after everything that was stored before it.
        public mutating func next() async throws -> RecordListChange? { try await sync.channel.next() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(sync: self) }

    /// Waits for the end of the sync, and tells what it has done.
    ///
    /// - Throws: ``ImageCacheError``.
    @discardableResult
    public func finish() async throws -> RecordListSummary {
        var summary = RecordListSummary()
        for try await change in self {
            if case .finished(let all) = change { summary = all }
        }
        return summary
    }
}
