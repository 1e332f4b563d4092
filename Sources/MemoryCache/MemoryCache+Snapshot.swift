import ConcurrencyPrimitives
import FoundationEssentials

extension MemoryCache {
    /// Statistics of the cache at one moment.
    public var statistics: MemoryCacheStatistics {
        withAllShards { statistics(of: $0) }
    }

    /// All entries, for a debug view. Blocks all other calls meanwhile.
    public var snapshot: MemoryCacheSnapshot<Key> {
        let now = context.clock.elapsed()
        return withAllShards { shards in
            var entries: [(sequence: UInt64, entry: MemoryCacheSnapshot<Key>.Entry)] = []
            for shard in shards {
                for list in [shard.pointee.free, shard.pointee.pinned] {
                    var slot = list.oldest
                    while slot != Use.none {
                        let use = shard.pointee.slots.uses[Int(slot)]
                        if let entry = shard.pointee.slots[slot] {
                            entries.append((use.sequence, .init(entry, usedAt: use.date, now: now)))
                        }
                        slot = use.newer
                    }
                }
            }
            entries.sort { $0.sequence < $1.sequence }
            return MemoryCacheSnapshot(entries: entries.map(\.entry), statistics: statistics(of: shards))
        }
    }

    private func statistics(of shards: [ShardPointer]) -> MemoryCacheStatistics {
        var statistics = MemoryCacheStatistics(limits: limits)
        for shard in shards.map(\.pointee) {
            statistics.bytes += shard.bytes
            statistics.entries += shard.free.count + shard.pinned.count
            statistics.pinnedBytes += shard.pinnedBytes
            statistics.pinnedEntries += shard.pinned.count
            statistics.counts.add(shard.counts)
        }
        return statistics
    }
}

extension MemoryCacheCounts {
    mutating func add(_ other: MemoryCacheCounts) {
        hits += other.hits
        heldHits += other.heldHits
        misses += other.misses
        inserts += other.inserts
        tooLarge += other.tooLarge
        purges += other.purges
        purgedEntries += other.purgedEntries
        purgedBytes += other.purgedBytes
        expired += other.expired
        removed += other.removed
    }
}

extension MemoryCacheSnapshot.Entry {
    fileprivate init<Value>(_ entry: Entry<Key, Value>, usedAt date: Double, now: Duration) {
        key = entry.key
        cost = entry.cost
        lastAccessDate = Date(timeIntervalSince1970: date)
        timeLeft = entry.expiry == .max ? nil : max(.zero, .nanoseconds(entry.expiry) - now)
        isPinned = entry.isPinned
    }
}
