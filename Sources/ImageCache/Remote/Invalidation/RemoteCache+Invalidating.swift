import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
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

    /// Invalidates what a target names, of which these URLs are known.
    func invalidate(_ scope: RemoteInvalidation, urls: Set<String>) {
        var items = urls.map { url in
            PendingInvalidations.Item(
                scope: .url(url, allOwners: false), objects: [EntryKey(ofShared: url).remoteKey], isAnnounced: false)
        }
        items.append(.init(scope: scope))
        add(items)
    }

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
                state.withLock { state in
                    state.invalidations.told(batch)
                    state.counts.invalidations += batch.count
                }
            } else {
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// Tombstones first: who reads the log looks at them next.
    private func tell(_ batch: [PendingInvalidations.Item]) async -> Bool {
        guard await write(batch.filter { $0.scope.url != nil }) else { return false }
        let news = batch.filter(\.isAnnounced).map(\.scope)
        if news.isEmpty { return true }
        let log = RemoteLog(tier, honoursConditions: state.withLock { $0.conditions != .ignoresConditions })
        let entry = RemoteInvalidation.encode(news)
        state.withLock { $0.news.noteOwn(entry) }
        return await asking(counts: false) { (_) async throws(RemoteError) in try await log.append(entry) } != nil
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

    // MARK: Generations

    /// A resource's generation in the fleet; nil: the store cannot tell.
    func generation(of url: String) async -> RemoteGeneration? {
        if let own = state.withLock({ $0.invalidations.generation(of: url) }) { return own }
        return await tombstone(of: url).flatMap { RemoteGeneration($0) }
    }

    /// The generation that a response belongs to, as an object is to say; nil: it may have been invalidated while it came.
    func generation(of fill: RemoteFill, _ url: String) async -> RemoteGeneration? {
        if let known = fill.generation { return known }
        // One that was fetched before this process invalidated it is not uploaded at all.
        if let own = state.withLock({ $0.invalidations.generation(of: url) }) { return own }
        guard let tombstone = await tombstone(of: url) else { return nil }
        return RemoteGeneration(tombstone, requestedBefore: .now - fill.began)
    }

    private func tombstone(of url: String) async -> RemoteReading? {
        await asking(counts: false) { (tier) async throws(RemoteError) in
            try await tier.read(RemoteGeneration.tombstone(of: url), unless: nil)
        }
    }
}

/// The state in which a fetch began, as its upload needs it.
struct RemoteFill: Sendable {
    /// The resource's generation in the fleet, seen before the origin was asked; nil: it was not looked at.
    var generation: RemoteGeneration?
    /// Given back when the object is there.
    var lease: RemoteLease?
    let began = ContinuousClock.now

    /// The same for somebody who does not give the lease back.
    var withoutLease: RemoteFill {
        var fill = self
        fill.lease = nil
        return fill
    }
}

extension EntryKey {
    /// The key of what a URL has for everybody.
    init(ofShared url: String) { self.init(CacheKey(url: url, owner: nil).value) }
}
