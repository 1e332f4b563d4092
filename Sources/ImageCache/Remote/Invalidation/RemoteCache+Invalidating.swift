import ConcurrencyPrimitives
import DiskStore
import RemoteStore

/// Invalidations by this machine: tombstones for the look-ups of others, and an entry of the log for what they have already.
extension RemoteCache {
    /// The pauses after failures to tell the fleet.
    private static let firstPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(8)
    /// Tombstones that are written at once.
    private static let width = 8

    /// Invalidates a resource: the response to a request that begins from now on has a new generation, and objects of another are not used, here
    /// at once and elsewhere as soon as the store knows.
    ///
    /// - Parameter keys: The keys whose objects are deleted.
    func invalidate(_ keys: [EntryKey], url: String, allOwners: Bool) {
        add([.init(scope: .url(url, allOwners: allOwners), objects: keys.map(\.remoteKey))])
    }

    /// Invalidates many resources at once: from now on no object of them is used here that was requested before the fleet has been told.
    func invalidate(_ scope: RemoteInvalidation) { add([.init(scope: scope)]) }

    private func add(_ items: [PendingInvalidations.Item]) {
        state.withLock { state in
            for item in items { state.invalidations.add(item) }
            if state.teller == nil { state.teller = Task(executorPreference: executor) { await self.tell() } }
        }
    }

    /// Tells the fleet of one batch after another until none waits, again and again after failures.
    private func tell() async {
        var pause = Self.firstPause
        while !Task.isCancelled {
            let batch = state.withLock { state in
                let batch = state.invalidations.batch
                if batch.isEmpty { state.teller = nil }
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

    /// Tombstones first: who reads the log looks at them next.
    private func tell(_ batch: [PendingInvalidations.Item]) async -> Bool {
        guard await write(batch.filter { $0.scope.url != nil }) else { return false }
        let log = RemoteLog(tier, honoursConditions: state.withLock { $0.conditions != .ignoresConditions })
        let entry = RemoteInvalidation.encode(batch.map(\.scope))
        state.withLock { $0.news.noteOwn(entry) }
        let bell = await asking(counts: false) { (_) async throws(RemoteError) in
            try await log.append(entry, summarizing: RemoteScopes.bell)
        }
        guard let bell else { return false }
        // At once: what waits no more must be known already.
        state.withLock { state in
            state.scopes.known.learn(bell)
            state.invalidations.told(batch)
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
        // They are of no use to anybody, whether they are deleted or not.
        await deleteNow(item.objects)
        return true
    }

    /// Returns when everything was told, or this time has passed: what was not told then is dropped.
    func finishTelling(within time: Duration) async {
        guard let teller = state.withLock({ $0.teller }) else { return }
        let isOver = Promise<Bool>()
        let timer = Task {
            try? await Task.sleep(for: time)
            isOver.fulfill(false)
        }
        let waiter = Task {
            await teller.value
            isOver.fulfill(true)
        }
        let isTold = await isOver.valueDespiteCancellation()
        timer.cancel()
        if isTold { return }
        teller.cancel()
        await waiter.value
        state.withLock { state in
            state.invalidations.drop()
            state.teller = nil
        }
    }
}
