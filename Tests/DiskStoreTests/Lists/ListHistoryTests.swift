import Foundation
import TestSupport
import Testing

@testable import DiskStore

@Suite(.serialized, .timeLimit) struct ListHistoryTests {
    /// One history again: the seed that a failure names.
    private static let onlySeed =
        ProcessInfo.processInfo.environment["IMGCACHE_HISTORY_SEED"].flatMap { UInt64($0) }

    @Test
    func `a list that two processes sync is right after every array, even if they are killed at any transaction`()
        throws
    {
        // The smallest batches: an array of twenty ids takes several transactions.
        let capacity: Int64 = 4 << 20
        let wanted = Self.onlySeed == nil ? Soak.count("IMGCACHE_LIST_HISTORIES", usual: 60) : 1
        var seeds = SeededGenerator(for: "ListHistories")
        var tally = ListHistory.Tally()
        var done = 0
        while done < wanted {
            let test = try StoreUnderTest(capacity: capacity)
            var stores = [test.store, try test.again()]
            for _ in 0..<min(200, wanted - done) {
                let seed = Self.onlySeed ?? seeds.next()
                let name = ListName(owner: "ann", group: "", name: "\(done)")
                let history = ListHistory(name, seed: seed, stores: stores) { try test.again(capacity: capacity) }
                do { stores = try history.run(steps: 15) } catch {
                    Issue.record("IMGCACHE_HISTORY_SEED=\(seed): \(error)")
                    return
                }
                tally += history.tally
                try stores[0].removeList(name)
                done += 1
            }
            for store in stores { store.close() }
        }
        print(
            "list histories: \(done), \(tally.arrays) arrays taken over, \(tally.breaks) broken off, \(tally.stops) ends of a process,",
            "\(tally.takeovers) taken over by the other process")
    }
}
