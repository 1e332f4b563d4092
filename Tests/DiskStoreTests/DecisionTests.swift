import Testing

@testable import DiskStore

/// Usage of a store of 64 MiB: bytes in MiB.
private func usage(
    bodies: Int64 = 0, partials: Int64 = 0, doomed: Int64 = 0, held: Int64 = 0, capacity: Int64 = 64,
    indexPages: Int64 = 20, freePages: Int64 = 0, diskFree: Int64? = nil, minimumFree: Int64 = 0
) -> StoreUsage {
    var totals = Totals()
    totals.bodies = bodies << 20
    totals.partials = partials << 20
    totals.doomed = doomed << 20
    totals.held = held << 20
    var usage = StoreUsage(budget: Budget(capacity: capacity << 20), totals: totals)
    usage.indexPages = indexPages
    usage.freePages = freePages
    if let diskFree { usage.diskFree = diskFree << 20 }
    usage.minimumFreeSpace = minimumFree << 20
    return usage
}

private func mib(_ count: Int64) -> Int64 { count << 20 }

@Suite struct StoreUsageTests {
    @Test func `the log counts at its allowance, or at its size if that is larger`() {
        var usage = usage()
        let before = usage.used
        #expect(before >= usage.budget.logAllowance)
        usage.logBytes = usage.budget.logAllowance + 4096
        #expect(usage.used == before + 4096)
    }

    @Test func `the shortage is the excess over the capacity or the space that the disk lacks`() {
        let roomy = usage(bodies: 30)
        #expect(roomy.shortage(of: mib(1)) < 0)
        #expect(usage(bodies: 64).shortage(of: mib(1)) == usage(bodies: 64).used + mib(1) - mib(64))
        let tight = usage(bodies: 30, diskFree: 10, minimumFree: 9)
        #expect(tight.shortage(of: mib(5)) == mib(4))
    }

    struct FreeableCase: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let usage: StoreUsage
        let bytes: Int64
        var idlePartials: Int64?
        let answer: StoreUsage.Feasibility
    }

    static let freeable: [FreeableCase] = [
        .init(testDescription: "bodies are enough", usage: usage(bodies: 10), bytes: mib(10), answer: .yes),
        .init(testDescription: "bodies are too few", usage: usage(bodies: 10), bytes: mib(11), answer: .no),
        .init(
            testDescription: "what runs hold does not count", usage: usage(bodies: 10, held: 4), bytes: mib(7),
            answer: .no),
        .init(testDescription: "the doomed count", usage: usage(bodies: 10, doomed: 1), bytes: mib(11), answer: .yes),
        .init(
            testDescription: "partials count if they are idle", usage: usage(bodies: 10, partials: 5), bytes: mib(12),
            answer: .dependsOnPartials(mib(2))),
        .init(
            testDescription: "idle partials are enough", usage: usage(bodies: 10, partials: 5), bytes: mib(12),
            idlePartials: mib(2), answer: .yes),
        .init(
            testDescription: "the others are in use", usage: usage(bodies: 10, partials: 5), bytes: mib(12),
            idlePartials: mib(1), answer: .no),
        .init(
            testDescription: "more than all partials", usage: usage(bodies: 10, partials: 5), bytes: mib(16),
            answer: .no),
        .init(
            testDescription: "an index without its entries is short", usage: usage(bodies: 10, indexPages: 64 + 512),
            bytes: mib(12), answer: .yes),
        .init(
            testDescription: "the index of held entries stays",
            usage: usage(bodies: 10, held: 10, indexPages: 64 + 512), bytes: mib(1), answer: .no),
    ]

    @Test(arguments: freeable) func `a store knows if evictions can free enough bytes`(row: FreeableCase) {
        #expect(row.usage.canFree(row.bytes, idlePartials: row.idlePartials) == row.answer)
    }

    @Test func `the reason for a refusal names the obstacle to making room`() {
        #expect(
            usage(bodies: 60, partials: 4, held: 60).noRoomReason(for: mib(10), idlePartials: mib(1))
                == .held(loading: mib(3)))
        #expect(usage(bodies: 60).noRoomReason(for: mib(10), idlePartials: 0) == .capacity)
        #expect(usage(bodies: 1, diskFree: 1).noRoomReason(for: mib(10), idlePartials: 0) == .disk)
        #expect(usage(bodies: 1, held: 1, diskFree: 1).noRoomReason(for: mib(10), idlePartials: 0) == .disk)
    }

    @Test func `the largest body follows from the capacity, even with a large index that can shrink`() {
        let least = usage(indexPages: 20).largestBody
        #expect(least == mib(64) - Budget(capacity: mib(64)).logAllowance - usage().budget.fixedAllowance - 20 * 4096)
        let large = usage(indexPages: 100_000).largestBody
        #expect(large > 0 && large < least)
    }
}

@Suite struct EvictionPlanTests {
    typealias Action = EvictionPlan.Action

    @Test func `a body that fits needs no eviction`() {
        #expect(EvictionPlan(for: mib(1)).next(usage(bodies: 10)) == .done)
    }

    @Test
    func `eviction starts with deleted bodies, then takes old partials, expired and unused entries, and idle partials`()
    {
        var room = EvictionPlan(for: mib(4))
        let full = usage(bodies: 58, partials: 6, doomed: 1)
        #expect(room.next(full) == .deleteDoomed)
        room.performed(freed: 0)
        #expect(room.next(full) == .dropOldPartials)
        room.performed(freed: 0)
        #expect(room.next(full) == .evictExpired(full.excessOverGoal(with: mib(4))))
        room.performed(freed: 0, isOver: false)
        #expect(room.next(full) == .evictExpired(full.excessOverGoal(with: mib(4))))
        room.performed(freed: 0)
        #expect(room.next(full) == .evict(full.excessOverGoal(with: mib(4))))
        room.performed(freed: 0, isOver: false)
        #expect(room.next(full) == .evict(full.excessOverGoal(with: mib(4))))
        room.performed(freed: 0)
        #expect(room.next(full) == .dropPartials(full.shortage(of: mib(4))))
        room.performed(freed: 0)
        #expect(room.next(full) == .refuse)
    }

    @Test func `an eviction that spares useful entries removes only deleted, outdated and expired ones`() {
        var room = EvictionPlan(for: mib(4), sparesUseful: true)
        let full = usage(bodies: 58, partials: 6, doomed: 1)
        #expect(room.next(full) == .deleteDoomed)
        room.performed(freed: 0)
        #expect(room.next(full) == .dropOldPartials)
        room.performed(freed: 0)
        #expect(room.next(full) == .evictExpired(full.excessOverGoal(with: mib(4))))
        room.performed(freed: 0)
        #expect(room.next(full) == .refuse)
    }

    @Test func `eviction stops as soon as there is room`() {
        var room = EvictionPlan(for: mib(4))
        #expect(room.next(usage(bodies: 63)) == .deleteDoomed)
        room.performed(freed: mib(20))
        #expect(room.next(usage(bodies: 43)) == .done)
    }

    @Test func `eviction frees the requested minimum even if the body fits`() {
        var room = EvictionPlan(for: 0, atLeast: mib(2))
        #expect(room.next(usage(bodies: 10)) == .deleteDoomed)
        room.performed(freed: mib(1))
        #expect(room.next(usage(bodies: 10)) == .dropOldPartials)
        room.performed(freed: mib(1))
        #expect(room.next(usage(bodies: 10)) == .done)
    }

    @Test func `nothing is evicted for a body that can never fit`() {
        #expect(EvictionPlan(for: mib(65)).next(usage(bodies: 1)) == .refuse)
        #expect(EvictionPlan(for: mib(10)).next(usage(bodies: 60, held: 60)) == .refuse)
    }

    @Test func `idle partials are counted only if they decide, and again after each step`() {
        var room = EvictionPlan(for: mib(60))
        let full = usage(bodies: 4, partials: 60)
        let needed = full.shortage(of: mib(60)) - mib(4)
        #expect(room.next(full) == .countIdlePartials(needed))
        room.learned(idlePartials: mib(60))
        #expect(room.next(full) == .deleteDoomed)
        room.performed(freed: 0)
        #expect(room.next(full) == .countIdlePartials(needed))
        room.learned(idlePartials: 0)
        #expect(room.next(full) == .refuse)
    }

    @Test func `an index larger than the capacity shrinks as its entries are evicted`() {
        var room = EvictionPlan(for: mib(1))
        // 8 MiB of bodies and 80 MiB of index in a capacity of 64 MiB.
        let large = usage(bodies: 8, indexPages: 20_480)
        for _ in 0..<3 { room.performed(freed: 0) }
        #expect(room.next(large) == .evict(large.excessOverGoal(with: mib(1))))
        room.performed(freed: mib(4), isOver: false)
        let withFreePages = usage(bodies: 4, indexPages: 20_480, freePages: 10_000)
        #expect(room.next(withFreePages) == .shrinkIndex)
        room.shrankIndex(freed: mib(40))
        #expect(room.hasShrunkIndex)
        #expect(room.next(usage(bodies: 4, indexPages: 10_480)) == .done)
    }

    @Test func `space that the index gives back counts towards the minimum to free`() {
        var room = EvictionPlan(for: mib(1), atLeast: mib(40))
        #expect(room.next(usage(bodies: 8, indexPages: 20_480, freePages: 20_000)) == .shrinkIndex)
        room.shrankIndex(freed: mib(78))
        #expect(room.next(usage(bodies: 8, indexPages: 480)) == .done)
    }

    @Test func `an index that did not shrink is not tried again before something was removed`() {
        var room = EvictionPlan(for: mib(1))
        let stuck = usage(bodies: 1, indexPages: 20_480, freePages: 10)
        #expect(room.next(stuck) == .shrinkIndex)
        room.shrankIndex(freed: 0)
        #expect(room.next(stuck) == .deleteDoomed)
        room.performed(freed: 0)
        #expect(room.next(stuck) == .shrinkIndex)
    }

    @Test func `a lowered capacity evicts to nine tenths of it`() {
        var room = EvictionPlan(for: 0)
        for _ in 0..<3 { room.performed(freed: 0) }
        let over = usage(bodies: 50, capacity: 32)
        #expect(room.next(over) == .evict(over.used - mib(32) / 10 * 9))
    }

    private static let batch = (1...4).map { EvictionCandidate(id: $0, allocated: 10, lastUse: $0) }

    @Test(arguments: [(0, 0), (1, 1), (10, 1), (11, 2), (40, 4), (1000, 4)] as [(Int64, Int)])
    func `a batch of victims has as many entries as it takes to free the bytes`(bytes: Int64, count: Int) {
        #expect(EvictionPlan.victims(Self.batch, atLeast: bytes).map(\.id) == (0..<Int64(count)).map { $0 + 1 })
    }

    struct PruneCase: Sendable {
        let excess: Int64
        let before: Int64?
        let ids: [Int64]
    }

    @Test(arguments: [
        PruneCase(excess: 0, before: nil, ids: []), PruneCase(excess: 15, before: nil, ids: [1, 2]),
        PruneCase(excess: .max, before: nil, ids: [1, 2, 3, 4]), PruneCase(excess: 0, before: 60, ids: [1, 4]),
        PruneCase(excess: 15, before: 60, ids: [1, 2, 4]),
    ])
    func `pruning selects the entries that exceed the size and those that are too old`(row: PruneCase) {
        // The clock stepped back before the last one was used.
        let entries = [(1, 50), (2, 70), (3, 80), (4, 10)].map { EvictionCandidate(id: $0, allocated: 10, lastUse: $1) }
        var selection = PruneSelection(excess: row.excess, before: row.before)
        for entry in entries { if !selection.consider(entry) { break } }
        #expect(selection.ids == row.ids)
        #expect(selection.bytes == Int64(row.ids.count) * 10)
    }
}

@Suite struct RecoveryDecisionTests {
    @Test(arguments: [false, true], [false, true])
    func `recovery keeps a body that is an entry, deleted or a partial`(isEntry: Bool, isDoomed: Bool) {
        for isPartial in [false, true] {
            let isKnown = isEntry || isDoomed || isPartial
            #expect(
                BodyRecoveryAction(isEntry: isEntry, isDoomed: isDoomed, isPartial: isPartial)
                    == (isKnown ? .keep : .orphan))
        }
    }

    @Test func `recovery decides about a partial with a row by its data, record and body`() {
        for body in [PartialRecoveryAction.Body.none, .entry, .unknown] {
            #expect(PartialRecoveryAction(data: true, isRecorded: true, body: body) == .keep)
            #expect(PartialRecoveryAction(data: true, isRecorded: false, body: body) == .drop)
        }
        for isRecorded in [false, true] {
            #expect(PartialRecoveryAction(data: false, isRecorded: isRecorded, body: .none) == .drop)
            #expect(PartialRecoveryAction(data: false, isRecorded: isRecorded, body: .entry) == .keep)
            #expect(PartialRecoveryAction(data: false, isRecorded: isRecorded, body: .unknown) == .restore)
        }
    }

    @Test func `recovery decides about a partial without a row by its data, lock and record`() {
        for isRecorded in [false, true] {
            for isLocked in [false, true] {
                #expect(UnindexedPartialAction(data: false, isLocked: isLocked, isRecorded: isRecorded) == .delete)
            }
            #expect(UnindexedPartialAction(data: true, isLocked: true, isRecorded: isRecorded) == .keep)
        }
        #expect(UnindexedPartialAction(data: true, isLocked: false, isRecorded: true) == .adopt)
        #expect(UnindexedPartialAction(data: true, isLocked: false, isRecorded: false) == .delete)
    }
}

@Suite struct NumberTests {
    @Test func `a thousand bodies in a row share a folder, and all folders are used in turn`() {
        var totals = Totals(nextNumber: 77 << 20)
        let numbers = (0..<5 * 1024).map { _ in totals.takeNumber(folders: 4) }
        #expect(Set(numbers).count == numbers.count)
        let folders = numbers.map(Paths.folderNumber)
        #expect(stride(from: 0, to: folders.count, by: 1024).map { folders[$0] } == [0, 1, 2, 3, 0])
        #expect((0..<5).allSatisfy { Set(folders[$0 * 1024..<($0 + 1) * 1024]).count == 1 })
    }
}
