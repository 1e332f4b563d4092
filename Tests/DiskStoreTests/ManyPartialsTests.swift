import Foundation
import TestSupport
import Testing

@testable import DiskStore

/// Stores with many more partials than are read together.
@Suite struct ManyPartialsTests {
    private static let count: Int64 = 2 * Index.partialStep + 500
    private let test: StoreUnderTest

    /// Rows without files, as kills leave them. They count as idle. Each reserves 10 bytes, and they were used one after the other, against the
    /// order of their numbers.
    init() throws {
        test = try StoreUnderTest()
        try test.store.withIndex { (index) throws(StoreError) in
            try index.change { (totals) throws(StoreError) in
                for number in 1...Self.count {
                    try index.catalogue().partials.insert(
                        PartialRow(
                            id: Self.id(number), claim: 1, key: EntryKey("k\(number)"), reserved: 10,
                            updated: (Self.count - number) * 1000))
                }
                totals.partials += Self.count * 10
                totals.noteTaken(Self.id(Self.count))
            }
            index.hasRecoveredPartials = true
        }
    }

    private static func id(_ number: Int64) -> Int64 { (1 << 40) + number }

    /// The numbers of the rows that are left, the longest idle first.
    private func numbers() throws -> [Int64] {
        let rows = try test.store.withIndex { (index) throws(StoreError) in try index.catalogue().partials.all() }
        return rows.map { $0.id - Self.id(0) }
    }

    private func counted(upTo enough: Int64) throws -> Int64 {
        try test.store.withIndex { (index) throws(StoreError) in try index.idlePartialBytes(upTo: enough) }
    }

    private func drop(olderThan lifetime: Duration?, atLeast bytes: Int64 = .max) throws -> Int64 {
        try test.store.withIndex { (index) throws(StoreError) in
            try index.dropPartials(olderThan: lifetime, atLeast: bytes)
        }
    }

    @Test func `the longest idle are dropped, as many as are needed, or all`() throws {
        #expect(try drop(olderThan: nil, atLeast: 1) == 10)
        #expect(try numbers().first == Self.count - 1)
        let some = Index.partialStep + 5
        #expect(try drop(olderThan: nil, atLeast: some * 10) == some * 10)
        let rest = Self.count - 1 - some
        #expect(try numbers() == (1...rest).reversed())
        #expect(try test.store.statistics().partials == Int(rest))
        #expect(try test.store.statistics().partialBytes == rest * 10)
        #expect(try drop(olderThan: nil) == rest * 10)
        #expect(try numbers().isEmpty)
    }

    @Test func `only those beyond their lifetime are dropped`() throws {
        // They were used in the first seconds of 1970.
        let lifetime = Duration.seconds(test.clock.now.milliseconds / 1000 - (Self.count - 100))
        #expect(try drop(olderThan: lifetime) == (Self.count - 100) * 10)
        #expect(try numbers() == (1...100).reversed())
    }

    @Test func `one that is in use stays, and those behind it are dropped`() throws {
        let writer = try test.store.beginBody(for: EntryKey("in use"))
        try writer.start(header: [1], total: 1 << 20)
        try test.store.withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                for row in try index.catalogue().partials.partials(of: EntryKey("in use")) {
                    try index.catalogue().partials.noteUse(ofPartial: row.id, at: -1)
                }
            }
        }
        #expect(try drop(olderThan: nil) == Self.count * 10)
        #expect(try test.store.statistics().partials == 1)
        try writer.discard()
    }

    @Test func `the first write of a process recovers the most recently used, and a sweep all of them`() async throws {
        let seen = try test.store.transactions {
            try test.store.withIndex { (index) throws(StoreError) in
                index.hasRecoveredPartials = false
                index.recoverPartialsOnce()
                index.recoverPartialsOnce()
            }
        }
        let most = Int64(Index.mostRecovered)
        #expect(seen.count == Index.mostRecovered)
        #expect(try numbers() == (most + 1...Self.count).reversed())
        #expect(try test.store.statistics().partialBytes == (Self.count - most) * 10)
        try await test.store.sweep()
        #expect(try numbers().isEmpty)
    }

    @Test(arguments: ["old", "prune", "clear"])
    func `they are dropped in steps, between which others look up`(how: String) throws {
        var freed: Int64 = 0
        let seen = try test.store.transactions {
            switch how {
            case "old": freed = try test.store.dropOldPartials()
            case "prune": freed = try test.store.prune(to: 0).bytes
            default: freed = try test.store.clear(.partials).bytes
            }
        }
        #expect(seen.mostInCall <= 100 && seen.count >= Int(Self.count))
        #expect(freed == Self.count * 10)
        #expect(try numbers().isEmpty)
    }

    @Test(arguments: [1, 10, 11, 10 * (Index.partialStep + 1), 10 * Self.count] as [Int64])
    func `no more idle partials are counted than are needed`(_ needed: Int64) throws {
        #expect(try counted(upTo: needed) == (needed + 9) / 10 * 10)
    }

    @Test func `all are counted if they are not enough`() throws {
        #expect(try counted(upTo: .max) == Self.count * 10)
    }
}
