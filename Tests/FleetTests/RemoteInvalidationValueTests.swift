import CacheTestSupport
import Foundation
import RemoteStore
import TestSupport
import Testing

@testable import Fleet

@Suite("Invalidations of a fleet as values")
struct RemoteInvalidationValueTests {
    private let stored = Date(timeIntervalSince1970: 1_700_000_000)

    private func tombstone(_ generation: RemoteGeneration, age: Double?) -> RemoteReading {
        RemoteReading(
            .object(generation.bytes), modified: age.map { _ in stored },
            storeTime: age.map { stored.addingTimeInterval($0) })
    }

    // MARK: Generations

    @Test func `an object is used only in its own generation, or in any if there is no tombstone`() {
        let (one, other) = (RemoteGeneration.new(), RemoteGeneration.new())
        #expect(one.allows(one) && !one.allows(other) && !one.allows(.first))
        #expect(RemoteGeneration.first.allows(.first) && RemoteGeneration.first.allows(one))
    }

    @Test func `a tombstone that may be younger than the request does not decide about its response`() {
        let generation = RemoteGeneration.new()
        let young = tombstone(generation, age: 5)
        #expect(RemoteGeneration(young, requestedBefore: .seconds(4)) == nil)
        #expect(RemoteGeneration(young, requestedBefore: .seconds(2)) == generation)
        #expect(RemoteGeneration(tombstone(generation, age: nil), requestedBefore: .zero) == nil)
        #expect(RemoteGeneration(RemoteReading(.absent), requestedBefore: .seconds(60)) == .first)
        #expect(RemoteGeneration(RemoteReading(.object([1, 2]))) == nil)
    }

    // MARK: Stamps

    @Test func `a stamp, or its absence, is found at the end of an object`() {
        let position = RemoteLogPosition(log: 5, entry: 6)
        for position in [position, nil] {
            let stamp = RemoteStamp(generation: .new(), position: position, uploaded: stored)
            let (content, found) = RemoteStamp.split([1, 2, 3] + stamp.encoded)
            #expect(content == [1, 2, 3] && found == stamp)
        }
        let plain = [UInt8](repeating: 7, count: 100)
        #expect(RemoteStamp.split(plain).content == plain && RemoteStamp.split(plain).stamp == nil)
        #expect(RemoteStamp.split([]).stamp == nil)
    }

    @Test(arguments: [0, 600, -600, 2, 4.0])
    func `the uploader's times are converted to this machine's clock by the store's clock`(_ difference: Double) {
        let stamp = RemoteStamp(generation: .first, uploaded: stored)
        let now = stored.addingTimeInterval(difference + 30)
        let expected: Double = abs(difference) <= 3 ? 0 : difference
        #expect(stamp.shift(now: now, age: .seconds(30)) == expected)
        #expect(stamp.shift(now: now, age: nil) == 0)
    }

    // MARK: Scopes

    @Test func `texts that are equal only by canonical equivalence are different scopes`() {
        let texts = ["caf\u{E9}", "cafe\u{301}"]
        var pending = PendingInvalidations()
        for text in texts { pending.add(.init(scope: .url(text, allOwners: true))) }
        #expect(pending.count == 2)
        #expect(Set(texts.map { RemoteInvalidation.prefix($0) }).count == 2)
    }

    // MARK: The log's entries

    @Test func `a log entry is read as it was written, and no two entries have equal bytes`() {
        let batch: [RemoteInvalidation] = [
            .url("http://a/1", allOwners: false), .url("http://a/é", allOwners: true), .prefix("http://a/"), .host("a"),
            .everything,
        ]
        #expect(RemoteInvalidation.decode(RemoteInvalidation.encode(batch)) == batch)
        #expect(RemoteInvalidation.encode(batch) != RemoteInvalidation.encode(batch))
    }

    @Test func `bytes that are not a log entry are rejected`() {
        let bytes = RemoteInvalidation.encode([.host("host")])
        for count in 0..<bytes.count { #expect(RemoteInvalidation.decode(Array(bytes.prefix(count))) == nil) }
        #expect(RemoteInvalidation.decode([2] + bytes.dropFirst()) == nil)
    }

    // MARK: Waiting

    @Test func `a second invalidation of a resource replaces the first and keeps its scope`() {
        var pending = PendingInvalidations()
        let first = PendingInvalidations.Item(scope: .url("a", allOwners: true), objects: ["1"])
        let second = PendingInvalidations.Item(scope: .url("a", allOwners: false), objects: ["2"])
        pending.add(first)
        pending.add(second)
        let batch = pending.batch
        #expect(batch.map(\.scope) == [.url("a", allOwners: true)] && batch[0].objects == ["2", "1"])
        #expect(pending.generation(of: "a") == second.generation)
        pending.acknowledged([first])
        #expect(pending.count == 1, "the second one was not told")
        pending.acknowledged(batch)
        #expect(pending.count == 0 && pending.generation(of: "a") == nil)
    }

    @Test func `the oldest pending invalidations above the limit are dropped and counted`() {
        var pending = PendingInvalidations(maxCount: 2)
        for name in ["a", "b", "c"] { pending.add(.init(scope: .url(name, allOwners: false))) }
        #expect(pending.batch.compactMap(\.scope.url) == ["b", "c"] && pending.lost == 1)
        pending.drop()
        #expect(pending.count == 0 && pending.lost == 3)
    }

    @Test func `pending invalidations of several resources above the limit become one of everything`() {
        var pending = PendingInvalidations(maxCount: 2)
        pending.add(.init(scope: .host("a")))
        for name in ["a", "b", "c"] { pending.add(.init(scope: .url(name, allOwners: false))) }
        #expect(pending.scopes == [.host("a")] && pending.lost == 1)
        for number in 0..<PendingInvalidations.maxScopes { pending.add(.init(scope: .prefix("http://a/\(number)"))) }
        #expect(pending.scopes == [.everything] && pending.count == 3 && pending.lost == 1)
        pending.acknowledged(pending.batch)
        #expect(pending.count == 0 && pending.scopes.isEmpty)
    }

    @Test(.timeLimit, arguments: [0, 1, PendingInvalidations.maxScopes])
    func `any number of additions behind pending scopes keep the newest resources, in order`(_ scopes: Int) {
        var pending = PendingInvalidations()
        for number in 0..<scopes { pending.add(.init(scope: .prefix("http://a/\(number)/"))) }
        let count = 50_000
        for number in 0..<count {
            pending.add(.init(scope: .url("http://b/\(number)", allOwners: false)))
            // Each is also read, as during an outage, when each attempt fails.
            if number % 10 == 0 {
                #expect(pending.batch.count == min(scopes + number + 1, RemoteInvalidation.maxBatch))
            }
        }
        #expect(pending.count == scopes + 4096 && pending.lost == count - 4096)
        var told: [RemoteInvalidation] = []
        while pending.count > 0 {
            let batch = pending.batch
            told += batch.map(\.scope)
            pending.acknowledged(batch)
        }
        #expect(told.prefix(scopes).allSatisfy { $0.url == nil })
        #expect(told.dropFirst(scopes).compactMap(\.url) == (count - 4096..<count).map { "http://b/\($0)" })
    }

    @Test
    func `scopes and resources are told in the order in which they were added, and again if they were added again`() {
        var pending = PendingInvalidations(maxCount: 3)
        func url(_ name: String) -> RemoteInvalidation { .url(name, allOwners: false) }
        for name in ["a", "b"] { pending.add(.init(scope: url(name))) }
        pending.add(.init(scope: .host("h")))
        for name in ["c", "d"] { pending.add(.init(scope: url(name))) }
        #expect(pending.batch.map(\.scope) == [url("b"), .host("h"), url("c"), url("d")] && pending.lost == 1)
        let batch = pending.batch
        pending.add(.init(scope: url("c")))
        pending.add(.init(scope: .host("h")))
        pending.acknowledged(batch)
        #expect(pending.batch.map(\.scope) == [.host("h"), url("c")] && pending.scopes == [.host("h")])
        pending.add(.init(scope: url("a")))
        #expect(pending.batch.map(\.scope) == [.host("h"), url("c"), url("a")])
        pending.acknowledged(pending.batch)
        #expect(pending.count == 0 && pending.batch.isEmpty && pending.lost == 1)
    }

    // MARK: Several resources

    private func place(_ entry: Int64, log: UInt32 = 7) -> RemoteLogPosition {
        RemoteLogPosition(log: log, entry: entry)
    }

    @Test func `the last invalidation of a URL is found by its prefix, its host, or with everything`() {
        var scopes = RemoteScopes()
        #expect(scopes.last(matching: "http://a/1") == nil)
        scopes.learn(LogHead(place(0), summary: []))
        scopes.learn([.everything, .url("http://b/2", allOwners: false)], at: place(1))
        scopes.learn([.host("a")], at: place(2))
        scopes.learn([.prefix("http://a/x/")], at: place(3))
        let expected: [(String, Int64)] = [("http://a/x/1", 3), ("http://a/1", 2), ("http://b/2", 1)]
        for (url, entry) in expected { #expect(scopes.last(matching: url) == place(entry)) }
        #expect(scopes.position == place(3))
        scopes.learn([.everything], at: place(4))
        #expect(scopes.count == 1 && scopes.last(matching: "http://a/x/1") == place(4))
    }

    @Test func `a log head summarises the entries before it`() {
        let former = LogHead(place(3), summary: [])
        let batches: [[RemoteInvalidation]] = [[.prefix("http://a/")], [.host("b"), .url("c", allOwners: true)]]
        let entries = batches.enumerated().map { number, batch in
            (position: place(Int64(number + 4)), content: Optional(RemoteInvalidation.encode(batch)))
        }
        var scopes = RemoteScopes()
        scopes.learn(RemoteScopes.logHead(former, entries))
        #expect(scopes.position == place(5) && scopes.count == 2)
        #expect(scopes.last(matching: "http://a/1") == place(4) && scopes.last(matching: "http://b/") == place(5))
        // An older log head takes nothing back.
        scopes.learn(former)
        #expect(scopes.position == place(5) && scopes.count == 2)
    }

    @Test(arguments: [nil, [9, 9, 9]] as [[UInt8]?])
    func `a log head without a summary counts as an invalidation of everything`(_ summary: [UInt8]?) {
        var scopes = RemoteScopes()
        scopes.learn(LogHead(place(3), summary: summary))
        #expect(scopes.last(matching: "http://a/") == place(3))
        scopes.learn(nil, at: place(4))
        #expect(scopes.last(matching: "http://a/") == place(4), "an entry that is damaged, too")
    }

    @Test func `the older half of the scopes above the limit becomes one of everything`() {
        var scopes = RemoteScopes()
        scopes.learn(LogHead(place(0), summary: []))
        let count = Int64(RemoteScopes.maxCount)
        for entry in 1...count + 1 { scopes.learn([.prefix("http://a/\(entry)/")], at: place(entry)) }
        #expect(scopes.count <= count / 2 + 1)
        #expect(scopes.last(matching: "http://b/") == place(count / 2 + 2))
        #expect(scopes.last(matching: "http://a/\(count)/") == place(count))
    }

    @Test func `an object is used if its writer knew all invalidations of its URL`() {
        let epoch = RemoteEpoch(generation: .first, position: place(9), scope: place(5))
        func stamp(_ position: RemoteLogPosition?) -> RemoteStamp {
            RemoteStamp(generation: .new(), position: position, uploaded: stored)
        }
        #expect(epoch.allows(stamp(place(5))) && epoch.allows(stamp(place(6))))
        #expect(!epoch.allows(stamp(place(4))) && !epoch.allows(stamp(nil)) && !epoch.allows(nil))
        #expect(!epoch.allows(stamp(place(6, log: 8))), "of another log")
        #expect(RemoteEpoch(generation: .first).allows(nil))
        #expect(!RemoteEpoch(generation: .new(), position: place(9)).allows(stamp(place(9))))
    }
}
