import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

@Suite struct PartialRecordTests {
    private let record = PartialRecord(
        id: 7, total: 1_000_000, created: 1_700_000_000_000, key: EntryKey("k"), header: Array("v1".utf8))
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// Reads a record from a file with the bytes, whose checksum is put right.
    private func read(_ bytes: [UInt8]) throws -> PartialRecord? {
        var bytes = bytes
        let end = bytes.count - Checksum.byteCount
        bytes[..<end].withUnsafeBytes { Checksum(of: $0) }.withBytes { bytes.replaceSubrange(end..., with: $0) }
        let path = directory.path("record")
        try Data(bytes).write(to: URL(filePath: path))
        return try PartialRecord(reading: File(path, O_RDONLY))
    }

    @Test func `a partial's record is read back as it was written`() throws {
        #expect(try read(record.encoded()) == record)
        var open = record
        open.total = nil
        #expect(try read(open.encoded()) == open)
    }

    @Test(
        arguments: [
            (48, 1, "reserved"), (63, 1, "reserved"), (23, 0xFE, "a negative length"),
            (23, 0x7F, "a length beyond any disk"), (40, 1, "the slots' offset"),
            (64, 0xFF, "a key that is not UTF-8"),
        ] as [(Int, UInt8, String)])
    func `a record with an invalid value is rejected, even if its checksum is right`(
        offset: Int, value: UInt8, name: String
    ) throws {
        var bytes = record.encoded()
        bytes[offset] = value
        #expect(try read(bytes) == nil, "\(name)")
    }
}
