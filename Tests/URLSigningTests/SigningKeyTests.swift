import Glibc
import Testing

@testable import URLSigning

@Suite("Key files")
struct SigningKeyTests {
    private let sixteen = "AAECAwQFBgcICQoLDA0ODw=="

    @Test func `a key file has one key a line, comments and empty lines, and the first key signs`() throws {
        let keys = try SigningKeys(text: "# ours\n\n  b.2:\(sixteen) \r\na-1_:\(sixteen.dropLast(2))\n")
        #expect(keys.all.map(\.id) == ["b.2", "a-1_"])
        #expect(keys.firstID == "b.2")
        #expect(keys.all.map(\.secret) == [Array(0...15), Array(0...15)])
    }

    @Test(arguments: [
        ("", "no key"), ("# nothing\n", "no key"), ("key", "line 1"), ("\n:AAECAwQFBgcICQoLDA0ODw==", "line 2"),
        ("a b:AAECAwQFBgcICQoLDA0ODw==", "line 1"), ("a:AAECAwQFBgcICQoLDA0ODw=", "not base64"),
        ("a:AAECAwQFBgcICQoLDA0ODx==", "not base64"), ("a:AAECAwQFBgcICQoL DA0ODw==", "not base64"),
        ("a:AAEC", "has 3 bytes"), ("a:", "has 0 bytes"),
        ("a:AAECAwQFBgcICQoLDA0ODw==\na:AAECAwQFBgcICQoLDA0ODw==", "two keys"),
    ])
    func `invalid key files are refused`(text: String, reason: String) {
        #expect {
            try SigningKeys(text: text)
        } throws: { error in
            "\(error)".contains(reason)
        }
    }

    @Test(arguments: [(0o600, true), (0o640, true), (0o644, false), (0o602, false)])
    func `key files that everyone may read are refused`(mode: UInt32, isTaken: Bool) throws {
        var template = Array("/tmp/imgcache-keys-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            close(descriptor)
            unlink(path)
        }
        let line = "a:\(sixteen)\n"
        #expect(write(descriptor, line, line.utf8.count) == line.utf8.count)
        #expect(fchmod(descriptor, mode) == 0)
        if isTaken {
            #expect(try SigningKeys(file: path).firstID == "a")
        } else {
            #expect {
                try SigningKeys(file: path)
            } throws: { error in
                "\(error)".contains("everybody may read or change it (mode \(String(mode, radix: 8)))")
            }
        }
    }

    @Test(arguments: ["/nowhere/keys", "/"])
    func `missing key files and other kinds of files are refused`(path: String) {
        #expect(throws: SigningKeyError.self) { try SigningKeys(file: path) }
    }

    @Test func `the description of a key shows only its name`() throws {
        let keys = try SigningKeys(text: "a:\(sixteen)")
        var dumped = ""
        dump(keys, to: &dumped)
        for text in ["\(keys.all)", String(reflecting: keys.all), dumped] {
            #expect(text.contains("a") && !text.contains("15"), "\(text)")
        }
    }
}

@Suite("Base64 (RFC 4648)")
struct Base64Tests {
    /// Section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `Base64 gives the examples of RFC 4648`(text: String, encoded: String) {
        #expect(Base64.decode(encoded.utf8) == Array(text.utf8))
        #expect(Base64.encodeURL(Array(text.utf8)) == String(encoded.prefix { $0 != "=" }))
    }

    @Test func `Base64 reads back the bytes that it wrote`() {
        for count in 0...300 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
            #expect(Base64.decodeURL(Base64.encodeURL(bytes).utf8) == bytes)
        }
    }

    @Test(arguments: ["Zh==", "Zg=", "Zg===", "=", "Z", "Zm9v=", "Zm9v ", "Zm8=="])
    func `Base64 has only one text for each sequence of bytes`(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }

    @Test(arguments: ["Zg==", "-_+/", "Zh"])
    func `Base64 of signatures has no padding and its own alphabet`(text: String) {
        #expect(Base64.decodeURL(text.utf8) == nil)
    }
}
