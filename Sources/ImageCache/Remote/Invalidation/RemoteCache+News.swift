import ConcurrencyPrimitives
import Digests
import DiskStore
import Logging
import RemoteStore

/// The fleet's log as this process reads it.
struct RemoteNews: Sendable {
    /// Nil: not read from the disk yet.
    var cursor: RemoteLogCursor?
    /// The tag of the bell that was looked at last.
    var tag: String?
    private var own: Set<[UInt8]> = []

    /// Entries of this process that it has not met in the log yet.
    private static let maxOwn = 4096

    /// Notes an entry that this process is about to write: what it fetches from then on is newer.
    mutating func noteOwn(_ entry: [UInt8]) {
        if own.count >= Self.maxOwn { own.removeAll() }
        own.insert(entry)
    }

    /// True if an entry is this process's own; asked once.
    mutating func isOwn(_ entry: [UInt8]) -> Bool { own.remove(entry) != nil }
}

/// Invalidations by other machines: they end what this one has on its disk, in memory, and on the way there.
extension RemoteCache {
    /// Looks at the bell, and reads the log from the place where the last look, or the last process on the directory, has ended.
    func readNews() async {
        let began = ContinuousClock.now
        await asking(counts: false) { (tier) async throws(RemoteError) in
            let tag = self.state.withLock { $0.news.tag }
            let reading = try await tier.read(RemoteBell.name, unless: tag)
            // Before anything is removed: it is not to come back from the store meanwhile.
            try await self.learnScopes(reading, readAt: began)
            if reading.content == .unchanged { return }
            // Without a tag to compare, the log itself is looked at each time.
            if try await self.readLog(reading) { self.state.withLock { $0.news.tag = reading.tag } }
        }
    }

    /// - Returns: False if the disk does not take what the log says: it is read again.
    private func readLog(_ bell: RemoteReading) async throws(RemoteError) -> Bool {
        var cursor = state.withLock { $0.news.cursor } ?? RemoteLogCursor(number: storedCursor())
        let before = cursor
        var done = cursor
        // After a failure too: what was carried out is not read again.
        defer {
            state.withLock { [done] in $0.news.cursor = done }
            if done.number != before.number { try? store.setNumber(done.number, named: cursorName) }
        }
        if cursor.rang(bell.bytes.flatMap { RemoteBell($0) }?.position), !forgetAll() { return false }
        done = cursor
        while let next = cursor.next {
            if Task.isCancelled { throw .cancelled }
            guard let entry = try await entry(next) else {
                guard cursor.absent() else { break }
                guard forgetAll() else { return false }
                done = cursor
                continue
            }
            learn(entry, at: next)
            let isOwn = entry.map { entry in state.withLock { $0.news.isOwn(entry) } } ?? false
            guard isOwn || apply(entry ?? []) else { return false }
            cursor.found()
            done = cursor
        }
        return true
    }

    /// An entry of the log; `nil`: it is absent; `.some(nil)`: it is damaged.
    func entry(_ position: RemoteLogPosition) async throws(RemoteError) -> [UInt8]?? {
        do throws(RemoteError) {
            return try await tier.read(position.name, unless: nil).bytes.map { .some($0) }
        } catch .damaged(let reason) {
            logger.warning(
                "an entry of the fleet's log is damaged, and is passed over",
                metadata: ["key": "\(position.name)", "reason": "\(reason)"])
            return .some(nil)
        }
    }

    // MARK: Applying

    /// An entry that cannot be read contains nothing that this version knows.
    private func apply(_ entry: [UInt8]) -> Bool {
        for invalidation in RemoteInvalidation.decode(entry) ?? [] {
            do throws(StoreError) { try apply(invalidation) } catch {
                logger.warning(
                    "an invalidation by another machine cannot be carried out yet",
                    metadata: ["reason": "\(error)"])
                return false
            }
            state.withLock { $0.counts.receivedInvalidations += 1 }
        }
        return true
    }

    private func apply(_ invalidation: RemoteInvalidation) throws(StoreError) {
        switch invalidation {
        case .url(let url, let allOwners):
            try store.remove(RequestKey(url: url).removedKeys, invalidating: .resource(url))
            if allOwners { try store.removeMatches(invalidation.matcher, invalidating: .resource(url)) }
        case .prefix, .host: try store.removeMatches(invalidation.matcher, invalidating: .everything)
        case .everything: try store.clear(sparingPins: true)
        }
    }

    /// This machine was away for longer than the log goes back: whatever it has may have been invalidated.
    private func forgetAll() -> Bool {
        logger.warning("invalidations by other machines were missed: the cache is emptied", metadata: storeMetadata)
        do throws(StoreError) { try store.clear() } catch { return false }
        return true
    }

    // MARK: The cursor on the disk

    private func storedCursor() -> Int64? { try? store.number(named: cursorName) }

    /// Another bucket or prefix has another log.
    private var cursorName: String {
        let location = configuration.location
        let place = "\(location.endpoint) \(location.bucket) \(location.prefix)"
        return "remote \(ShortSHA256.digest(of: place.utf8).hexadecimal.prefix(16))"
    }
}
