import ConcurrencyPrimitives
import DiskStore
import ImageCache
import RemoteStore

/// Publishes invalidations by this machine: as tombstones for later look-ups of other machines, and in the log for their stored responses.
extension RemoteCache {
    /// The pauses after failed attempts to publish.
    private static let firstPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(8)
    /// The maximum number of tombstones that are written in parallel.
    private static let width = 8

    /// Invalidates a resource. The response to a request that starts after this call has a new generation. Objects of other generations are
    /// no longer used: here immediately, and elsewhere as soon as the store has the tombstone.
    ///
    /// - Parameter keys: The keys whose objects are deleted.
    func invalidate(_ keys: [EntryKey], url: String, allOwners: Bool) {
        add([.init(scope: .url(url, allOwners: allOwners), objects: keys.map(\.remoteKey))])
    }

    /// Invalidates several resources. From now on, this machine uses no object of them that was requested before the invalidation is
    /// published.
    func invalidate(_ target: RemovalTarget) {
        if let scope = RemoteInvalidation(target) { add([.init(scope: scope)]) }
    }

    private func add(_ items: [PendingInvalidations.Item]) {
        state.withLock { state in
            for item in items { state.invalidations.add(item) }
            // A fetch may end after the cache was closed.
            if state.isPublishingOver { return state.invalidations.drop() }
            if state.publisher == nil { state.publisher = Task(executorPreference: executor) { await self.tell() } }
        }
    }

    /// Publishes all pending invalidations in batches, and retries after failures.
    private func tell() async {
        var pause = Self.firstPause
        while !Task.isCancelled {
            let batch = state.withLock { state in
                let batch = state.invalidations.batch
                if batch.isEmpty { state.publisher = nil }
                return batch
            }
            if batch.isEmpty { return }
            if await tell(batch) {
                pause = Self.firstPause
            } else {
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// Tombstones are written first, because readers of the log then read them.
    private func tell(_ batch: [PendingInvalidations.Item]) async -> Bool {
        guard await write(batch.filter { $0.scope.url != nil }) else { return false }
        let log = RemoteLog(tier, honoursConditions: state.withLock { $0.conditions != .ignoresConditions })
        let entry = RemoteInvalidation.encode(batch.map(\.scope))
        state.withLock { $0.feed.noteOwn(entry) }
        let logHead = await asking(counts: false) { (_) async throws(RemoteError) in
            try await log.append(entry, summarizing: RemoteScopes.logHead)
        }
        guard let logHead else { return false }
        // In one step, so that an invalidation is known before it stops being pending.
        state.withLock { state in
            state.scopes.known.learn(logHead)
            state.invalidations.acknowledged(batch)
            state.counts.invalidations += batch.count
        }
        return true
    }

    private func write(_ items: [PendingInvalidations.Item]) async -> Bool {
        var rest = items[...]
        return await withTaskGroup(of: Bool.self) { group in
            var isWritten = true
            for _ in 0..<Self.width {
                guard let item = rest.popFirst() else { break }
                group.addTask { await self.write(item) }
            }
            while let done = await group.next() {
                isWritten = isWritten && done
                if isWritten, let item = rest.popFirst() { group.addTask { await self.write(item) } }
            }
            return isWritten
        }
    }

    private func write(_ item: PendingInvalidations.Item) async -> Bool {
        guard let url = item.scope.url else { return true }
        let isWritten = await asking(counts: false) { (tier) async throws(RemoteError) in
            try await tier.put(item.generation.bytes, at: RemoteGeneration.tombstone(of: url), .none)
        }
        guard isWritten != nil else { return false }
        // Deleting the objects only saves space, as they are already invalid.
        await deleteNow(item.objects)
        return true
    }

    /// Publishes what is pending, and nothing later: what comes afterwards is lost.
    func endTelling(within time: Duration) async {
        await finishTelling(within: time)
        let late = state.withLock { state in
            state.isPublishingOver = true
            return state.publisher
        }
        guard let late else { return }
        late.cancel()
        await late.value
        state.withLock { state in
            state.invalidations.drop()
            state.publisher = nil
        }
    }

    /// Waits until everything is published, or drops the rest after the given time.
    func finishTelling(within time: Duration) async {
        guard let publisher = state.withLock({ $0.publisher }) else { return }
        let isOver = Promise<Bool>()
        let timer = Task {
            try? await Task.sleep(for: time)
            isOver.fulfill(false)
        }
        let waiter = Task {
            await publisher.value
            isOver.fulfill(true)
        }
        let isTold = await isOver.valueDespiteCancellation()
        timer.cancel()
        if isTold { return }
        publisher.cancel()
        await waiter.value
        state.withLock { state in
            state.invalidations.drop()
            state.publisher = nil
        }
    }
}
