import Digests
import DownloadLists
import Testing

/// Metalink 4 documents (RFC 5854), well-meant and hostile.
struct MetalinkTests {
    private static let sum = String(repeating: "0f", count: 32)

    private func downloads(_ text: String) throws -> [ListedDownload] {
        try DownloadList.downloads(in: Array(text.utf8), file: "set.meta4")
    }

    private func document(_ files: String) -> String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\n\(files)</metalink>\n"
    }

    @Test func `files have sizes, digests, pieces and URLs by priority`() throws {
        let list = try downloads(
            document(
                """
                <generator>x</generator>
                <file name="a/b.bin"><size>300</size><identity>b</identity>
                  <hash type="md5">\(String(repeating: "0", count: 32))</hash>
                  <hash type="sha-256"> \(Self.sum) </hash><hash type="whirlpool">zz</hash>
                  <pieces length="256" type="sha-256"><hash>\(Self.sum)</hash><hash>\(Self.sum)</hash></pieces>
                  <url location="de" priority="2">http://b/x</url><url priority="1">http://a/x?a=1&amp;b=2</url>
                  <url>http://c/x</url><url priority="1">ftp://d/x</url>
                  <metaurl mediatype="torrent">http://e/x.torrent</metaurl>
                </file>
                <file name="c"><url><![CDATA[http://a/c]]></url></file>
                """))
        #expect(list.count == 2)
        #expect(list[0].output == "a/b.bin" && list[0].size == 300 && list[0].position?.line == 4)
        #expect(list[0].digest == Digest(.sha256, hexadecimal: Self.sum) && list[0].digests.count == 2)
        #expect(list[0].pieces?.length == 256 && list[0].pieces?.digests.count == 2)
        #expect(list[0].sources.map(\.url) == ["http://a/x?a=1&b=2", "http://b/x", "http://c/x"])
        #expect(list[0].sources.map(\.priority) == [1, 2, 999_999])
        #expect(list[1].sources.map(\.url) == ["http://a/c"] && list[1].digest == nil)
    }

    @Test(arguments: [
        ("<file name=\"../x\"><url>http://a/x</url></file>", "leads out"),
        ("<file name=\"a/../../x\"><url>http://a/x</url></file>", "leads out"),
        ("<file name=\"/etc/x\"><url>http://a/x</url></file>", "absolute"),
        ("<file name=\"\"><url>http://a/x</url></file>", "empty name"),
        ("<file><url>http://a/x</url></file>", "empty name"),
        ("<file name=\"a&#10;b\"><url>http://a/x</url></file>", "control"),
        ("<file name=\"x\"><url>ftp://a/x</url></file>", "no http or https URL"),
        ("<file name=\"x\"><url>http://a/\(String(repeating: "x", count: 70_000))</url></file>", "64 KiB"),
        ("<file name=\"x\"><url priority=\"0\">http://a/x</url></file>", "priority"),
        ("<file name=\"x\"><size>-1</size><url>http://a/x</url></file>", "size"),
        ("<file name=\"x\"><hash type=\"sha-256\">12</hash><url>http://a/x</url></file>", "64 hexadecimal"),
        ("<file name=\"x\"><pieces length=\"0\" type=\"sha-1\"></pieces><url>http://a/x</url></file>", "positive"),
        (
            "<file name=\"x\"><size>9</size><pieces length=\"4\" type=\"sha-256\"><hash>\(sum)</hash></pieces>"
                + "<url>http://a/x</url></file>", "pieces"
        ),
        ("<file name=\"x\"><url>http://a/x</file>", "well-formed"), ("<file name=\"x\">&bomb;</file>", "well-formed"),
    ])
    func `an invalid file element is an error with its line`(file: String, reason: String) throws {
        let error = try #require(throws: ListError.self) { try downloads(document(file + "\n")) }
        #expect(error.position == ListPosition("set.meta4", line: 3), "\(error)")
        #expect(error.message.contains(reason), "\(error)")
    }

    @Test(arguments: [
        "<!DOCTYPE m [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]><metalink>&b;</metalink>",
        "<!DOCTYPE m SYSTEM \"file:///etc/passwd\"><metalink/>",
        "<!DOCTYPE m [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><metalink>&x;</metalink>",
    ])
    func `entities that grow or name files are refused before they are read`(text: String) throws {
        let error = try #require(throws: ListError.self) { try downloads(text) }
        #expect(error.message.contains("document type declaration"), "\(error)")
    }

    @Test(arguments: [
        "<metalink version=\"3.0\" xmlns=\"http://www.metalinker.org/\"/>", "<html/>", "<", "<metalink", "<metalink/>",
        "<?xml version=\"1.0\" encoding=\"EBCDIC-X\"?><metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"/>",
    ])
    func `a document that is not Metalink 4 is an error`(text: String) {
        #expect(throws: ListError.self) { try downloads(text) }
    }

    @Test func `elements of other namespaces are ignored`() throws {
        let list = try downloads(
            document(
                "<description>\(String(repeating: "x", count: 70_000))</description>"
                    + "<x:file xmlns:x=\"u\" name=\"../x\"/><file name=\"a\"><x:url xmlns:x=\"u\">http://bad/</x:url>"
                    + "<url>http://a/</url></file>"))
        #expect(list.map { $0.sources.map(\.url) } == [["http://a/"]])
    }

    @Test func `deep nesting and mangled documents end in an error or a list`() throws {
        #expect(throws: ListError.self) { try downloads(document(String(repeating: "<a>", count: 10_000))) }
        let whole = Array(document("<file name=\"x\"><size>1</size><url>http://a/x</url></file>").utf8)
        for end in 0..<whole.count { _ = try? DownloadList.downloads(in: Array(whole[..<end]), file: "x") }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<1000 {
            var bytes = whole
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? DownloadList.downloads(in: bytes, file: "x")
        }
    }
}
