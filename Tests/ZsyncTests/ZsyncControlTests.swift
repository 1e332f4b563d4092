import Digests
import TestSupport
import Testing

@testable import Zsync

@Suite("A control file of zsync")
struct ZsyncControlTests {
    private static let header = """
        zsync: 0.6.2
        Filename: a b.iso
        MTime: Thu, 26 Nov 2026 10:00:00 +0000
        Blocksize: 2048
        Length: 5000
        Hash-Lengths: 2,2,4
        URL: a%20b.iso
        SHA-1: 4a17c3ff00000000000000000000000000000000


        """
    /// Three blocks of six bytes.
    private static let checksums = [UInt8](0..<18)

    private func control(_ header: String, _ checksums: [UInt8] = Self.checksums) throws(ZsyncControl.Failure)
        -> ZsyncControl
    {
        try ZsyncControl(Array(header.utf8) + checksums)
    }

    @Test func `the fields and checksums of a control file are read`() throws {
        let control = try control(Self.header)
        #expect(control.filename == "a b.iso" && control.url == "a%20b.iso")
        #expect(control.sha1?.hexadecimal == "4a17c3ff00000000000000000000000000000000")
        #expect(control.length == 5000 && control.blockSize == 2048 && control.run == 2 && control.blockCount == 3)
        #expect(control.rolling(1) == 0x0607 && control.strong(1) == [8, 9, 10, 11])
        #expect(control.range(ofBlock: 2) == 4096..<5000)
    }

    @Test func `a control file is read as it was written`() throws {
        var control = try control(Self.header)
        control.filename = nil
        #expect(try ZsyncControl(control.encoded) == control)
    }

    @Test func `unknown fields are skipped only if the file marks them as safe, and Z-Map2 always`()
        throws
    {
        let safe = Self.header.replacing("URL:", with: "Safe: X-Note X-More\nX-Note: 1\nURL:")
        #expect(try control(safe).url == "a%20b.iso")
        let bytes = Array("zsync: 0.6.2\nZ-Map2: 2\n".utf8) + [10, 10, 58, 0, 1, 2, 3, 4]
        let rest = Self.header.dropFirst("zsync: 0.6.2\n".count).utf8
        #expect(try ZsyncControl(bytes + rest + Self.checksums).length == 5000)
    }

    @Test(arguments: [
        ("zsync: 0.6.2", "http: 1", "no control file"), ("Length: 5000", "Length: -1", "Length"),
        ("Length: 5000\n", "", "Length"), ("Length: 5000", "Length: 9223372036854775807", "blocks"),
        ("Blocksize: 2048", "Blocksize: 2047", "Blocksize"), ("Blocksize: 2048", "Blocksize: 0", "Blocksize"),
        ("Blocksize: 2048", "Blocksize: 33554432", "Blocksize"), ("2,2,4", "3,2,4", "Hash-Lengths"),
        ("2,2,4", "2,0,4", "Hash-Lengths"), ("2,2,4", "2,2,17", "Hash-Lengths"), ("2,2,4", "2,2", "Hash-Lengths"),
        ("2,2,4", "2,2,5", "checksums"), ("URL:", "X-URL:", "X-URL"), ("URL: a%20b.iso", "URL", "no field"),
        ("SHA-1: 4a", "SHA-1: zz", "SHA-1"), ("MTime:", "Min-Version: 0.7.0\nMTime:", "0.7.0"),
        ("MTime:", "Z-Map2: 999999999999\nMTime:", "Z-Map2"),
    ])
    func `an unusable control file is refused with the reason`(_ part: String, _ other: String, _ reason: String) {
        let error = #expect(throws: ZsyncControl.Failure.self) { try control(Self.header.replacing(part, with: other)) }
        #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    }

    @Test func `no mutation of a control file crashes the reader or the search`() throws {
        var random = SeededGenerator(for: "zsync control files")
        let whole = Array(Self.header.utf8) + Self.checksums
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                case 1: bytes.remove(at: Int.random(in: 0..<bytes.count, using: &random))
                default: bytes = Array(bytes[..<Int.random(in: 1...bytes.count, using: &random)])
                }
                if bytes.isEmpty { bytes = [0] }
            }
            guard let control = try? ZsyncControl(bytes), control.blockCount < 1000 else { continue }
            var search = ZsyncSearch(control)
            _ = search.search(0, size: 0) { _, _ in 0 }
            #expect(search.missing.reduce(0) { $0 + Int64($1.count) } <= control.length)
        }
    }
}

@Suite("The checksums of zsync's blocks")
struct BlockChecksumTests {
    private func hexadecimal(_ text: String) -> String {
        let digest = Array(text.utf8).withUnsafeBytes { MD4.digest($0) }
        return (0..<16).map { UInt8(truncatingIfNeeded: digest[$0 / 4] >> (8 * UInt32($0 % 4))) }.hexadecimal
    }

    @Test(arguments: [
        ("", "31d6cfe0d16ae931b73c59d7e0c089c0"), ("a", "bde52cb31de33e46245e05fbdbd6fb24"),
        ("abc", "a448017aaf21d8525fc10ae87aa6729d"), ("message digest", "d9130a8164549fe818874806e1c7014b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "043f8582f241db351ce627e153e7f0e4"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "e33b4ddc9c38f2199c3e7b164fcc0536"
        ),
    ])
    func `MD4 gives the digests of RFC 1320`(_ text: String, _ digest: String) {
        #expect(hexadecimal(text) == digest)
    }

    @Test func `a window that moves has the checksum of its bytes`() {
        var random = SeededGenerator(for: "rolling checksums")
        let bytes = (0..<5000).map { _ in UInt8.random(in: 0...255, using: &random) }
        bytes.withUnsafeBytes { bytes in
            var moving = RollingChecksum(.init(rebasing: bytes[..<1024]))
            for start in 0..<bytes.count - 1024 {
                #expect(moving.value == RollingChecksum(.init(rebasing: bytes[start..<start + 1024])).value)
                moving.move(removing: bytes[start], adding: bytes[start + 1024], shift: 10)
            }
        }
    }
}
