import Foundation
import TestSupport
import Testing

@Suite(.timeLimit) struct HistoryTests {
    /// The number of histories of each case in batches of 50; `IMGCACHE_HISTORIES` sets it for all cases (scripts/soak).
    private static let batches = max(1, Soak.count("IMGCACHE_HISTORIES", usual: 400) / 400)

    /// One history again and again: the seed that a failure names.
    private static let onlySeed =
        ProcessInfo.processInfo.environment["IMGCACHE_HISTORY_SEED"].flatMap { UInt64($0) }

    /// Parts run at the same time.
    @Test(arguments: [true, false], 0..<4)
    func `every response of random histories is one that the origin's history allows`(
        isShared: Bool, part: Int
    ) async throws {
        var seeds = SeededGenerator(for: "histories, part \(part)")
        for _ in 0..<part { seeds = SeededGenerator(seed: seeds.next()) }
        var tally = History.Tally()
        // New directories now and then, so that one history's leftovers do not drown the next one's.
        for batch in 0..<Self.batches {
            let directory = try TestDirectory()
            let origin = try HistoryOrigin()
            for number in 0..<50 {
                let seed = Self.onlySeed ?? seeds.next()
                var history = try History(
                    batch * 50 + number, seed: seed, origin: origin, directory: directory.path("cache"),
                    isShared: isShared)
                do {
                    try await history.run(steps: 25)
                } catch {
                    Issue.record("history of seed \(seed): \(error)")
                    return
                }
                tally.add(history.tally)
                if Self.onlySeed != nil { print(history.log.joined(separator: "\n")) }
            }
            origin.stop()
        }
        print("histories: \(Self.batches * 50), \(tally)")
        // One history alone need not have all of them.
        guard Self.onlySeed == nil else { return }
        #expect(tally.hits * 10 > tally.requests && tally.revalidations > 0 && tally.resumptions > 0)
    }
}

extension History.Tally {
    fileprivate mutating func add(_ other: History.Tally) {
        requests += other.requests
        hits += other.hits
        revalidations += other.revalidations
        resumptions += other.resumptions
        errors += other.errors
    }
}
