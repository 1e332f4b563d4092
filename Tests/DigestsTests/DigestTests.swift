import Digests
import Testing

extension Sequence where Element == UInt8 {
    fileprivate var hex: String {
        reduce(into: "") { text, byte in text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    }
}

@Suite("SHA-256")
struct SHA256Tests {
    @Test func `SHA-256 gives the digests of FIPS 180-4's examples`() throws {
        func digest(_ text: String) throws -> String {
            let hash = try RunningDigest(.sha256)
            var text = text
            text.withUTF8 { hash.update(UnsafeRawBufferPointer($0)) }
            return hash.finish().hex
        }
        #expect(try digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(try digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }
}

@Suite struct ShortSHA256Tests {
    @Test func `the short SHA-256 agrees with libcrypto at every length`() throws {
        for count in [0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 1000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
            #expect(try ShortSHA256.digest(of: bytes) == RunningDigest.digest(.sha256, of: bytes), "\(count)")
        }
    }
}

@Suite("HMAC with SHA-256")
struct HMACTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let key: [UInt8]
        let message: [UInt8]
        let code: String
        var testDescription: String { name }
    }

    /// RFC 4231 section 4.
    static let vectors = [
        Vector(
            name: "case 1", key: [UInt8](repeating: 0x0B, count: 20), message: Array("Hi There".utf8),
            code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        Vector(
            name: "case 2: a key shorter than the digest", key: Array("Jefe".utf8),
            message: Array("what do ya want for nothing?".utf8),
            code: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        Vector(
            name: "case 3", key: [UInt8](repeating: 0xAA, count: 20), message: [UInt8](repeating: 0xDD, count: 50),
            code: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        Vector(
            name: "case 4", key: Array(1...25), message: [UInt8](repeating: 0xCD, count: 50),
            code: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        Vector(
            name: "case 6: a key longer than a block", key: [UInt8](repeating: 0xAA, count: 131),
            message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            code: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
        Vector(
            name: "case 7: key and message longer than a block", key: [UInt8](repeating: 0xAA, count: 131),
            message: Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
            code: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
    ]

    @Test(arguments: vectors)
    func `HMAC with SHA-256 gives the codes of RFC 4231`(vector: Vector) throws {
        #expect(try HMAC.code(of: vector.message, key: vector.key).hex == vector.code)
    }

    @Test func `HMAC accepts an empty key and an empty message`() throws {
        _ = try HMAC.code(of: [1], key: [1, 2, 3])
        #expect(
            try HMAC.code(of: [], key: []).hex
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func `codes are equal only byte for byte and at equal length`() throws {
        let code = try HMAC.code(of: [1], key: [2])
        #expect(ConstantTime.areEqual(code, code))
        #expect(ConstantTime.areEqual([], []))
        #expect(!ConstantTime.areEqual(code, Array(code.dropLast())))
        for index in code.indices {
            var other = code
            other[index] ^= 1
            #expect(!ConstantTime.areEqual(code, other))
        }
    }
}
