import Digests
import DownloadLists
import Testing

/// Lists of URLs, aria2 input files and lists of checksums.
struct DownloadListTests {
    private func downloads(_ text: String, base: String? = nil) throws -> [ListedDownload] {
        try DownloadList.downloads(in: Array(text.utf8), file: "list", base: base)
    }

    private static let sum = String(repeating: "0f", count: 32)
    private static let digest = Digest(.sha256, hexadecimal: sum)

    @Test func `a plain list is one URL a line`() throws {
        let list = try downloads("\u{FEFF}https://a/1\r\n\n# comment\n  https://a/2?x=1  \nno-url\nhttps://a/3")
        #expect(
            list.map { $0.sources.map(\.url) } == [["https://a/1"], ["https://a/2?x=1"], ["no-url"], ["https://a/3"]])
        #expect(list.map { $0.position?.line } == [1, 4, 5, 6])
    }

    @Test func `an aria2 input file has mirrors and options`() throws {
        let list = try downloads(
            "http://a/x\thttp://b/x\tftp://c/x\n  dir=sub\n\tout=x y\n  checksum=sha-256=\(Self.sum)\n  split=5\n"
                + "  header=A: b\nhttp://a/y\n out=y\n")
        #expect(list.count == 2)
        #expect(list[0].sources.map(\.url) == ["http://a/x", "http://b/x"])
        #expect(list[0].output == "sub/x y")
        #expect(list[0].digest == Self.digest)
        #expect(list[0].fields == [.init("A", "b")])
        #expect(list[1].output == "y" && list[1].digests.isEmpty)
    }

    @Test func `a slash separates also before a combining mark`() throws {
        for path in ["../\u{301}x", "a/../\u{301}x", "/\u{301}x", "a/"] {
            #expect(throws: (any Error).self, "\(path)") { try downloads("http://a/x\n out=\(path)\n") }
        }
        let list = try downloads("http://a/x\n out=a/\u{301}x\n")
        #expect(list.map { $0.output.map { Array($0.utf8) } } == [Array("a/\u{301}x".utf8)])
        let sums = try downloads("\\\(Self.sum)  a\\\\\u{301}b\n\(Self.sum)  \u{301}c\n", base: "http://a")
        #expect(sums.map { $0.output.map { Array($0.utf8) } } == ["a\\\u{301}b", "\u{301}c"].map { Array($0.utf8) })
    }

    @Test func `a list of failures that is written is read as the same downloads`() throws {
        var download = ListedDownload("http://a/x", position: ListPosition("list", line: 2))
        download.sources.append(.init("http://b/x"))
        download.output = "s/x"
        download.digests = [try #require(Self.digest)]
        download.fields = [.init("A", "b")]
        let text = LineList.lines(for: download, comment: "cut\nand more")
        #expect(try downloads(text) == [download])
    }

    @Test func `a list of checksums takes its names from the base URL`() throws {
        let list = try downloads(
            "\(Self.sum)  a b/ü.bin\n\n# x\n\(Self.sum) *./c\nSHA512 (d (1).bin) = \(Self.sum)\(Self.sum)\n\\\(Self.sum)  e\\\\f\r\n",
            base: "https://a.example/set")
        #expect(
            list.map { $0.sources[0].url } == [
                "https://a.example/set/a%20b/%C3%BC.bin", "https://a.example/set/c",
                "https://a.example/set/d%20%281%29.bin",
                "https://a.example/set/e%5Cf",
            ])
        #expect(list.map(\.output) == ["a b/ü.bin", "c", "d (1).bin", "e\\f"])
        #expect(list.map { $0.digest?.algorithm } == [.sha256, .sha256, .sha512, .sha256])
    }

    @Test func `an escaped name is the same with and without --tag`() throws {
        for (written, name) in [("b\\\\c.txt", "b\\c.txt"), ("\\\\\\\\", "\\\\"), ("a (1) = b", "a (1) = b")] {
            let list = try downloads(
                "\\\(Self.sum)  \(written)\n\\SHA256 (\(written)) = \(Self.sum)\r\n", base: "http://a")
            #expect(list.map(\.output) == [name, name])
            #expect(list.map(\.digest) == [Self.digest, Self.digest])
        }
        // Without the mark, a backslash is itself.
        #expect(try downloads("SHA256 (b\\\\c) = \(Self.sum)\n", base: "http://a").map(\.output) == ["b\\\\c"])
    }

    private static let signed = """
        -----BEGIN PGP SIGNED MESSAGE-----
        Hash: SHA512

        \(sum)  first
        # comment

        SHA256 (second) = \(sum)
        -----BEGIN PGP SIGNATURE-----

        iQIzBAEBCgAdFiEE
        =abcd
        -----END PGP SIGNATURE-----
        """

    @Test(arguments: ["\n", "\r\n"])
    func `a signed list of checksums has the entries of its text`(end: String) throws {
        let text = Self.signed.replacing("\n", with: end)
        for list in [text, text + end, "\u{FEFF}" + text, "# first\(end)\(end)\(text)\(end)# last\(end)"] {
            let entries = try downloads(list, base: "http://a")
            #expect(entries.map(\.output) == ["first", "second"])
            #expect(entries.map(\.digest) == [Self.digest, Self.digest])
        }
    }

    @Test func `an escaped dash in a signed list is no part of its line`() throws {
        let text = """
            -----BEGIN PGP SIGNED MESSAGE-----

            - # comment
            - \(Self.sum)  -x
            -----BEGIN PGP SIGNATURE-----
            -----END PGP SIGNATURE-----
            """
        #expect(try downloads(text, base: "http://a").map(\.output) == ["-x"])
    }

    private static let (begin, signature) = ("-----BEGIN PGP SIGNED MESSAGE-----", "-----BEGIN PGP SIGNATURE-----")

    @Test(arguments: [
        // The signature covers neither what is before nor what is after the text.
        ("\(sum)  a\n\(begin)\n", 2), ("\(signed)\n\(sum)  a\n", 13), ("\(signed)\n\(begin)\n", 13),
        ("\(begin)\nHash: SHA512\n\(sum)  a\n", 3), ("\(begin)\n\n\(begin)\n", 3), ("\(signature)\n", 1),
        ("- \(sum)  a\n", 1),
    ])
    func `a line outside of a signed text is an error with its position`(text: String, line: Int) throws {
        let error = try #require(throws: ListError.self) { try downloads(text, base: "http://a") }
        #expect(error.position == ListPosition("list", line: line), "\(error)")
    }

    @Test func `a signed list that is cut is an error, wherever it ends`() throws {
        let lines = Self.signed.split(separator: "\n", omittingEmptySubsequences: false)
        for count in 1..<lines.count {
            let text = lines.prefix(count).joined(separator: "\n")
            let error = try #require(throws: ListError.self) { try downloads(text, base: "http://a") }
            #expect(error.position == ListPosition("list", line: count), "\(error)")
            #expect(error.description.contains("signature does not end"), "\(error)")
            // The pause of a program that writes the list is no end.
            var reader = DownloadListReader(file: "list", base: "http://a")
            for line in lines.prefix(count) { _ = try reader.take(Array(line.utf8)) }
            #expect(try reader.finish() == nil)
            #expect(throws: ListError.self) { try reader.checkEnd() }
            for line in lines.dropFirst(count) { _ = try reader.take(Array(line.utf8)) }
            try reader.checkEnd()
        }
    }

    @Test(arguments: [
        ("http://a/x\n out=../x", 2), ("http://a/x\n out=/etc/x", 2), ("http://a/x\n dir=/tmp\n out=x", 2),
        ("http://a/x\n out=a/../../x", 2), ("http://a/x\n out=a//b", 2), ("http://a/x\n out=.imgcache/x", 2),
        ("http://a/x\n checksum=sha-256=12", 2), ("http://a/x\n checksum=crc=12", 2), ("http://a/x\n checksum=1", 2),
        (" out=x", 1), ("http://a/x\n header=secret", 2), ("http://a/\u{0}\n\n out=a\u{7}b", 3),
        ("\(sum)  a", 1), ("\\SHA256 (a) = \(sum)", 1), (signed, 1),
    ])
    func `an invalid line is an error with its position`(text: String, line: Int) throws {
        let error = try #require(throws: ListError.self) { try downloads(text) }
        #expect(error.position == ListPosition("list", line: line), "\(error)")
        #expect(error.description.hasPrefix("list:\(line): "))
        #expect(!error.description.contains("secret"))
    }

    @Test(arguments: [
        "0f  short", "\(sum) name", "\(sum)", "\(sum)  ", "\(sum)  ../x", "\(sum)  /x", "zz\(sum.dropFirst(2))  x",
        "http://a/x", "SHA256 (x = \(sum)", "\\\(sum)  a\\nb", "\(sum)  a\u{202E}b",
    ])
    func `an invalid checksum line is an error with its position`(text: String) throws {
        let error = try #require(throws: ListError.self) {
            try downloads("\(Self.sum)  fine\n\(text)\n", base: "http://a")
        }
        #expect(error.position.line == 2, "\(error)")
    }

    @Test func `bytes that are not text are an error with their position`() throws {
        let error = try #require(throws: ListError.self) {
            try DownloadList.downloads(in: Array("http://a/\n".utf8) + [0xFF, 0xFE], file: "list")
        }
        #expect(error.position.line == 2)
    }

    @Test func `a list is read line by line`() throws {
        var reader = DownloadListReader(file: "-", base: nil)
        #expect(try reader.take(Array("http://a/1".utf8)) == nil)
        #expect(try reader.take(Array(" out=x".utf8)) == nil)
        #expect(try reader.take(Array("http://a/2".utf8))?.output == "x")
        #expect(try reader.finish()?.sources[0].url == "http://a/2")
        #expect(try reader.finish() == nil)
        #expect(throws: ListError.self) { try reader.take(Array(" out=late".utf8)) }
    }

    @Test func `a download with an invalid option is skipped`() throws {
        var reader = DownloadListReader(file: "-", base: nil)
        #expect(try reader.take(Array("http://a/1".utf8)) == nil)
        #expect(throws: ListError.self) { try reader.take(Array(" checksum=sha-256=12".utf8)) }
        #expect(try reader.take(Array(" out=x".utf8)) == nil)
        #expect(try reader.take(Array("http://a/2".utf8)) == nil)
        #expect(try reader.finish()?.sources[0].url == "http://a/2")
    }

    @Test func `a list that is split into pieces has the same lines as the whole`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let bytes = (0..<Int.random(in: 0..<60, using: &generator)).map { _ in UInt8.random(in: 9...11) }
            var splitter = LineSplitter()
            var lines: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...7, using: &generator))
                splitter.add(piece) { lines.append($0) }
                rest = rest.dropFirst(piece.count)
            }
            if let last = splitter.finish() { lines.append(last) }
            var expected = bytes.split(separator: 10, omittingEmptySubsequences: false).map(Array.init)
            if expected.last?.isEmpty == true { expected.removeLast() }
            #expect(lines == expected, "\(bytes)")
        }
    }

    @Test func `a line without an end is held up to 64 KiB`() {
        var splitter = LineSplitter()
        let piece = [UInt8](repeating: 0x61, count: 10_000)
        for _ in 0..<100 { splitter.add(piece) { _ in Issue.record("no line has ended") } }
        #expect(splitter.held == LineSplitter.longest + 1)
        var lines: [Int] = []
        splitter.add(Array("\nb\n".utf8)) { lines.append($0.count) }
        #expect(lines == [LineSplitter.longest + 1, 1] && splitter.finish() == nil)
    }

    @Test(arguments: [[UInt8](repeating: 0x61, count: LineSplitter.longest + 1), [0xFF]])
    func `an invalid line is an error, and its options do not pass to another download`(line: [UInt8]) throws {
        var reader = DownloadListReader(file: "-", base: nil)
        #expect(try reader.take(Array("http://a/1".utf8)) == nil)
        let error = try #require(throws: ListError.self) { try reader.take(line) }
        #expect(error.position.line == 2, "\(error)")
        #expect(try reader.take(Array(" out=x".utf8)) == nil)
        let first = try #require(try reader.take(Array("http://a/2".utf8)))
        #expect(first.sources[0].url == "http://a/1" && first.output == nil)
        // Indented, it may have been a checksum.
        #expect(throws: ListError.self) { try reader.take(Array(" ".utf8) + line) }
        #expect(try reader.take(Array("http://a/3".utf8)) == nil)
        let last = try #require(try reader.finish())
        #expect(last.sources[0].url == "http://a/3" && last.position?.line == 6)
    }

    @Test func `random bytes are a list or an error`() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("http://a\t\n =#<>sum./\\0f".utf8) + [0xC3, 0x00, 0xFF]
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            for base in [nil, "http://a/"] { _ = try? DownloadList.downloads(in: bytes, file: "list", base: base) }
        }
    }
}
