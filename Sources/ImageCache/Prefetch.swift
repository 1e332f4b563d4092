import Locking

extension ImageCache {
    /// Loads files that will be wanted soon, behind everything else, `width` at a time.
    ///
    /// Files that are stored and fresh cost a look-up. Failures are not thrown: what could not be fetched now is fetched
    /// when it is asked for. Dropping the returned value does not stop the prefetch; ``Prefetch/cancel()`` does.
    @discardableResult
    public func prefetch(_ requests: [FileRequest], width: Int = 4) -> Prefetch {
        let counts = Locked(Prefetch.Counts(requested: requests.count))
        let task = Task(priority: .background) { [self] in
            await withTaskGroup(of: Bool.self) { group in
                var rest = requests[...]
                func startNext() {
                    guard var request = rest.popFirst(), !Task.isCancelled else { return }
                    request.priority = .background
                    group.addTask { [request] in
                        do throws(ImageCacheError) {
                            _ = try await self.file(for: request)
                            return true
                        } catch {
                            return false
                        }
                    }
                }
                for _ in 0..<max(1, width) { startNext() }
                while let succeeded = await group.next() {
                    counts.withLock { counts in
                        if succeeded { counts.loaded += 1 } else { counts.failed += 1 }
                    }
                    startNext()
                }
            }
        }
        return Prefetch(task: task, counts: counts)
    }
}

/// A prefetch under way.
public final class Prefetch: Sendable {
    /// How far it is.
    public struct Counts: Sendable, Equatable {
        public var requested: Int
        public var loaded = 0
        public var failed = 0
    }

    private let task: Task<Void, Never>
    private let state: Locked<Counts>

    init(task: Task<Void, Never>, counts: Locked<Counts>) {
        self.task = task
        state = counts
    }

    public var counts: Counts { state.withLock { $0 } }

    /// Starts no further file and stops those under way that nobody else waits for.
    public func cancel() { task.cancel() }

    /// Returns when everything was tried, or after ``cancel()``.
    public func finish() async { await task.value }
}
