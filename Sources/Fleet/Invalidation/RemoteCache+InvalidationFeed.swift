import ConcurrencyPrimitives
import Digests
import DiskStore
import ImageCache
import Logging
import RemoteStore

/// The state of reading the fleet's log.
struct InvalidationFeed: Sendable {
    /// Nil if it has not been read from disk.
    var cursor: RemoteLogCursor?
    /// The entity tag of the log head when it was last read.
    var tag: String?
    private var own: Set<[UInt8]> = []

    /// The maximum number of this process's entries that it has not yet read in the log.
    private static let maxOwn = 4096

    /// Records an entry that this process is about to write. Responses that it fetches afterwards are newer.
    mutating func noteOwn(_ entry: [UInt8]) {
        if own.count >= Self.maxOwn { own.removeAll() }
        own.insert(entry)
    }

    /// Returns true if an entry is this process's own. Each entry may be checked once.
    mutating func isOwn(_ entry: [UInt8]) -> Bool { own.remove(entry) != nil }
}

/// Applies invalidations by other machines to the disk, to memory, and to running fetches.
extension RemoteCache {
    /// Reads the log head, then the log from the place where this process, or the last process that used the directory, stopped.
    func readNews() async {
        let began = ContinuousClock.now
        await asking(counts: false) { (tier) async throws(RemoteError) in
            let tag = self.state.withLock { $0.feed.tag }
            let reading = try await tier.read(LogHead.name, unless: tag)
            // Before anything is removed, so that it is not fetched again from the remote store.
            try await self.learnScopes(reading, readAt: began)
            if reading.content == .unchanged { return }
            // Without an entity tag to compare, the log is read each time.
            if try await self.readLog(reading) { self.state.withLock { $0.feed.tag = reading.tag } }
        }
    }

    /// - Returns: False if the disk rejects a change; the entry is then read again.
    private func readLog(_ logHead: RemoteReading) async throws(RemoteError) -> Bool {
        var cursor = state.withLock { $0.feed.cursor } ?? RemoteLogCursor(number: storedCursor())
        let before = cursor
        var done = cursor
        // Also after a failure, so that applied entries are not read again.
        defer {
            state.withLock { [done] in $0.feed.cursor = done }
            if done.number != before.number { try? store.setNumber(done.number, named: cursorName) }
        }
        if cursor.advanced(logHead.bytes.flatMap { LogHead($0) }?.position), !forgetAll() { return false }
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
            let isOwn = entry.map { entry in state.withLock { $0.feed.isOwn(entry) } } ?? false
            guard isOwn || apply(entry ?? []) else { return false }
            cursor.found()
            done = cursor
        }
        return true
    }

    /// An entry of the log; `nil` if it does not exist, `.some(nil)` if it is damaged.
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

    /// Applies an entry. One that cannot be decoded has no invalidations that this version knows.
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
            if allOwners {
                let places = RemovalTarget.url(url).places
                try store.removeMatches(invalidation.matcher, places, invalidating: .resource(url))
            }
        case .prefix(let prefix):
            let places = RemovalTarget.prefix(prefix).places
            try store.removeMatches(invalidation.matcher, places, invalidating: .everything)
        case .host: try store.removeMatches(invalidation.matcher, [], invalidating: .everything)
        case .everything: try store.clear(sparingPins: true)
        }
    }

    /// Empties the cache: this machine was disconnected for longer than the log goes back, so any entry may have been invalidated.
    private func forgetAll() -> Bool {
        logger.warning("invalidations by other machines were missed: the cache is emptied", metadata: storeMetadata)
        do throws(StoreError) { try store.clear() } catch { return false }
        return true
    }

    // MARK: Storing the cursor

    private func storedCursor() -> Int64? { try? store.number(named: cursorName) }

    /// Each bucket and prefix has its own log.
    private var cursorName: String {
        let location = configuration.location
        let place = "\(location.endpoint) \(location.bucket) \(location.prefix)"
        return "remote \(ShortSHA256.digest(of: place.utf8).hexadecimal.prefix(16))"
    }
}
