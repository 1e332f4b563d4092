import Foundation
import RemoteStore
import Testing

@testable import ImageCache

@Suite("Invalidations of a fleet as values")
struct RemoteInvalidationValueTests {
    private let stored = Date(timeIntervalSince1970: 1_700_000_000)

    private func tombstone(_ generation: RemoteGeneration, age: Double?) -> RemoteReading {
        RemoteReading(
            .object(generation.bytes), modified: age.map { _ in stored },
            storeTime: age.map { stored.addingTimeInterval($0) })
    }

    // MARK: Generations

    @Test func `an object is used in its own generation, and in any when there is no tombstone`() {
        let (one, other) = (RemoteGeneration.new(), RemoteGeneration.new())
        #expect(one.allows(one) && !one.allows(other) && !one.allows(.first))
        #expect(RemoteGeneration.first.allows(.first) && RemoteGeneration.first.allows(one))
    }

    @Test func `a tombstone that may be younger than the request says nothing of its response`() {
        let generation = RemoteGeneration.new()
        let young = tombstone(generation, age: 5)
        #expect(RemoteGeneration(young, requestedBefore: .seconds(4)) == nil)
        #expect(RemoteGeneration(young, requestedBefore: .seconds(2)) == generation)
        #expect(RemoteGeneration(tombstone(generation, age: nil), requestedBefore: .zero) == nil)
        #expect(RemoteGeneration(RemoteReading(.absent), requestedBefore: .seconds(60)) == .first)
        #expect(RemoteGeneration(RemoteReading(.object([1, 2]))) == nil)
    }

    // MARK: Stamps

    @Test func `a stamp is found at the end of its object, and its absence too`() {
        let stamp = RemoteStamp(generation: .new(), uploaded: stored)
        let (content, found) = RemoteStamp.split([1, 2, 3] + stamp.encoded)
        #expect(content == [1, 2, 3] && found == stamp)
        let plain = [UInt8](repeating: 7, count: 100)
        #expect(RemoteStamp.split(plain).content == plain && RemoteStamp.split(plain).stamp == nil)
        #expect(RemoteStamp.split([]).stamp == nil)
    }

    @Test(arguments: [0, 600, -600, 2, 4.0])
    func `the uploader's times are moved to this machine's clock by the store's`(_ difference: Double) {
        let stamp = RemoteStamp(generation: .first, uploaded: stored)
        let now = stored.addingTimeInterval(difference + 30)
        let expected: Double = abs(difference) <= 3 ? 0 : difference
        #expect(stamp.shift(now: now, age: .seconds(30)) == expected)
        #expect(stamp.shift(now: now, age: nil) == 0)
    }

    // MARK: The log's entries

    @Test func `an entry of the log is read as it was written, and is never the same twice`() {
        let batch: [RemoteInvalidation] = [
            .url("http://a/1", allOwners: false), .url("http://a/é", allOwners: true), .prefix("http://a/"), .host("a"),
        ]
        #expect(RemoteInvalidation.decode(RemoteInvalidation.encode(batch)) == batch)
        #expect(RemoteInvalidation.encode(batch) != RemoteInvalidation.encode(batch))
    }

    @Test func `bytes that are no entry are none`() {
        let bytes = RemoteInvalidation.encode([.host("host")])
        for count in 0..<bytes.count { #expect(RemoteInvalidation.decode(Array(bytes.prefix(count))) == nil) }
        #expect(RemoteInvalidation.decode([2] + bytes.dropFirst()) == nil)
    }

    // MARK: Waiting

    @Test func `a second invalidation of a resource takes the place of the first, with what that meant`() {
        var pending = PendingInvalidations()
        let first = PendingInvalidations.Item(scope: .url("a", allOwners: true), objects: ["1"])
        let second = PendingInvalidations.Item(scope: .url("a", allOwners: false), objects: ["2"], isAnnounced: false)
        pending.add(first)
        pending.add(second)
        let batch = pending.batch
        #expect(batch.map(\.scope) == [.url("a", allOwners: true)] && batch[0].objects == ["2", "1"])
        #expect(batch[0].isAnnounced && pending.generation(of: "a") == second.generation)
        pending.told([first])
        #expect(pending.count == 1, "the second one was not told")
        pending.told(batch)
        #expect(pending.count == 0 && pending.generation(of: "a") == nil)
    }

    @Test func `the oldest are lost when there are too many, and counted`() {
        var pending = PendingInvalidations(maxCount: 2)
        for name in ["a", "b", "c"] { pending.add(.init(scope: .url(name, allOwners: false))) }
        #expect(pending.batch.compactMap(\.scope.url) == ["b", "c"] && pending.lost == 1)
        pending.drop()
        #expect(pending.count == 0 && pending.lost == 3)
    }
}
