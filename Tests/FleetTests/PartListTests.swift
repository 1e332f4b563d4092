import CacheTestSupport
import TestSupport
import Testing

@testable import Fleet

@Suite struct PartListTests {
    private let identity: PartIdentity

    init() throws { identity = try #require(PartIdentity(0..<48)) }

    private func list(_ total: Int64, _ digests: [[UInt8]]? = nil) -> PartList {
        PartList(identity, total: total, partSize: 1 << 20, digests: digests)
    }

    @Test func `a list of parts is read as it was written`() {
        let digests = (0..<3).map { [UInt8](repeating: UInt8($0), count: 32) }
        for list in [list(5), list(3 << 20), list(3 << 20, digests), list(2 << 20 + 1, digests)] {
            #expect(PartList(decoding: list.encoded) == list)
        }
    }

    @Test func `bytes that are not a list of parts are rejected`() {
        let whole = list(3 << 20, (0..<3).map { [UInt8](repeating: UInt8($0), count: 32) }).encoded
        for count in 0..<whole.count { #expect(PartList(decoding: Array(whole.prefix(count))) == nil) }
        #expect(PartList(decoding: whole + [0]) == nil)
        for total in [0, -1, Int64.max, Int64.min] { #expect(PartList(decoding: list(total).encoded) == nil) }
        for size in [0, -1, 1, 256 << 10 + 1, 128 << 20] {
            #expect(PartList(decoding: PartList(identity, total: 5, partSize: Int64(size)).encoded) == nil)
        }
    }

    @Test func `the parts of a list cover the body`() {
        let list = list(2 << 20 + 1)
        #expect(list.count == 3)
        let ranges: [Range<Int64>] = [0..<1 << 20, 1 << 20..<2 << 20, 2 << 20..<2 << 20 + 1]
        #expect((0..<3).map { list.range(of: $0) } == ranges)
        #expect(list.parts(touching: 5..<6) == 0..<1)
        #expect(list.parts(touching: (1 << 20) - 1..<(1 << 20) + 1) == 0..<2)
        #expect(list.parts(touching: 0..<Int64.max) == 0..<3)
        #expect(list.parts(touching: 7..<7).isEmpty)
    }

    @Test func `an object is one part of one body, before or after an invalidation`() throws {
        let epoch = RemoteEpoch(generation: .new())
        #expect(identity.during(epoch) == identity.during(epoch) && identity.during(epoch) != identity)
        #expect(identity.during(nil) != identity.during(nil) && identity.during(nil).isSameRepresentation(identity))
        let (list, other) = (list(3 << 20), PartList(identity.during(epoch), total: 3 << 20, partSize: 1 << 20))
        let object = PartObject.prefix(of: 1, list) + [UInt8](repeating: 7, count: 1 << 20)
        #expect(PartObject.content(of: object, 1, list)?.count == 1 << 20)
        #expect(PartObject.content(of: object, 2, list) == nil && PartObject.content(of: object, 1, other) == nil)
        #expect(PartObject.content(of: object.dropLast(), 1, list) == nil)
        #expect(PartObject.content(of: object + [7], 1, list) == nil)
    }
}

@Suite struct PartProgressTests {
    private let digest = [UInt8](repeating: 1, count: 32)

    @Test func `a few parts are uploaded at once, each one once, in the order in which they came`() {
        var progress = PartProgress(digests: [nil, digest, nil, nil], width: 2)
        for index in [3, 1, 0, 3, 2] { progress.offer(index) }
        #expect([progress.next(), progress.next(), progress.next()] == [3, 0, nil])
        progress.finished(3, digest: digest)
        #expect([progress.next(), progress.next()] == [2, nil])
        #expect(progress.allDigests == nil && progress.uploadedCount == 0)
        progress.finished(0, digest: digest)
        #expect(progress.uploadedCount == 2)
        progress.finished(2, digest: digest)
        #expect(progress.uploadedCount == 4)
        #expect(progress.allDigests?.count == 4 && progress.next() == nil)
    }

    @Test func `a part that failed is the next one to be uploaded`() {
        var progress = PartProgress(digests: [nil, nil], width: 1)
        #expect(!progress.hasAny)
        progress.offer(0)
        progress.offer(1)
        #expect(progress.next() == 0)
        progress.failed(0)
        #expect(progress.next() == 0)
        progress.finished(0, digest: digest)
        progress.failed(0)
        #expect(progress.hasAny && progress.next() == 1)
    }
}
