import Glibc
import Testing

@testable import imgcache

@Suite("The room that an output needs")
struct OutputRoomTests {
    @Test(
        arguments: [
            (OutputRoom.Way.shared, 0), (.moved, 70), (.copiedBeside, 170), (.copiedElsewhere, 100),
        ] as [(OutputRoom.Way, Int64)])
    func `an output needs room for the copies that exist at the same time`(way: OutputRoom.Way, needed: Int64) {
        #expect(OutputRoom.needed(for: 100, held: 30, way) == needed)
    }

    @Test(arguments: [OutputRoom.Way.moved, .copiedBeside, .copiedElsewhere])
    func `an output without enough room is refused with the figures`(way: OutputRoom.Way) throws {
        let error = try #require(throws: Failure.self) {
            try OutputRoom.check(1 << 60, held: 0, at: "/tmp/big", in: "/tmp", way) { 0 }
        }
        #expect(error.status == .store && error.message.hasPrefix("/tmp/big: the file needs "), "\(error.message)")
        #expect(error.message.contains(" are free"), "\(error.message)")
        try OutputRoom.check(1, held: 0, at: "/tmp/small", in: "/tmp", way) { 0 }
    }

    @Test(arguments: [OutputRoom.Way.shared, .moved, .copiedBeside, .copiedElsewhere])
    func `a length whose copies have no number needs more room than there is`(way: OutputRoom.Way) {
        #expect(OutputRoom.needed(for: .max, held: 0, way) == (way == .shared ? 0 : .max))
        #expect(
            OutputRoom.needed(for: .max - 1, held: .max - 1, way) == (way == .shared || way == .moved ? 0 : .max - 1))
    }

    @Test func `the room for an output includes what the cache may evict on the same file system`() throws {
        try OutputRoom.check(1 << 60, held: 0, at: "/tmp/a", in: "/tmp", .copiedBeside) { .max / 4 }
        try OutputRoom.check(1 << 60, held: 0, at: "/tmp/a", in: "/tmp", .shared) { 0 }
        try OutputRoom.check(1 << 60, held: 0, at: "/absent/a", in: "/absent", .copiedElsewhere) { 0 }
    }

    @Test func `the room for an output is measured in the nearest folder that exists`() {
        #expect(OutputRoom.folder(of: "/absent-1/2/3") == "/")
        #expect(OutputRoom.folder(of: "/tmp/absent-1/2") == "/tmp")
        #expect(OutputRoom.folder(of: "name") == ".")
    }
}
