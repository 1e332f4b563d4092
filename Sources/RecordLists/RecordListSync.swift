import ConcurrencyPrimitives
import ImageCache

/// A running sync of a ``RecordList``, as a sequence of its changes.
///
///     for try await change in list.sync() {
///         if case .records(let records) = change { show(records) }
///     }
///
/// Releasing the sequence, or cancelling the task that iterates it, stops the sync. Stored records are kept, and the next sync resumes.
public final class RecordListSync: AsyncSequence, Sendable {
    public typealias Element = RecordListChange

    private let channel = ChangeChannel<RecordListChange>()
    /// The totals, before an iteration gets them.
    private let totals = Locked(RecordListSummary())
    private let task: Task<Void, Never>

    init(
        on executor: any TaskExecutor,
        _ work:
            @escaping @Sendable (_ send: @escaping @Sendable (RecordListChange) async -> Void)
            async throws(ImageCacheError) -> Void
    ) {
        task = Task(executorPreference: executor) { [channel, totals] in
            do throws(ImageCacheError) {
                try await work { change in
                    if case .finished(let all) = change { totals.withLock { $0 = all } }
                    await channel.send(change)
                }
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

        /// - Throws: `ImageCacheError`, after all earlier changes were returned.
        public mutating func next() async throws -> RecordListChange? { try await sync.channel.next() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(sync: self) }

    /// Waits for the end of the sync and returns its totals, also after an iteration.
    ///
    /// - Throws: `ImageCacheError`.
    @discardableResult
    public func finish() async throws -> RecordListSummary {
        for try await _ in self {}
        return totals.withLock { $0 }
    }
}
